import t from 'tap';
import { Progress } from '../../../src/commands/command.ts';

/** A clock, and an output that keeps what is written. */
function setting(isTTY: boolean) {
  const state = { now: 0, text: '' };
  const write = (text: string) => {
    state.text += text;
  };
  return { state, progress: new Progress({ isTTY, write }, () => state.now) };
}

t.test('on a terminal one line is written anew, five times a second at most', async (t) => {
  const { state, progress } = setting(true);
  for (; state.now <= 500; state.now += 10) progress.step(() => `at ${state.now}`);
  t.equal(state.text, '\r\x1b[Kat 200\r\x1b[Kat 400');
  state.text = '';
  progress.say('done');
  progress.say('bye');
  t.equal(state.text, '\r\x1b[Kdone\nbye\n');
});

t.test('elsewhere there is a line every five seconds', async (t) => {
  const { state, progress } = setting(false);
  for (; state.now <= 12_000; state.now += 10) progress.step(() => `at ${state.now}`);
  progress.say('done');
  t.equal(state.text, 'at 5000\nat 10000\ndone\n');
});
