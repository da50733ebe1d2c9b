/** Who may sign in, and under which name they post. */
import t from 'tap';
import { isAllowed, senderOf, verifiedEmail } from '../../src/sign-in/sign-in.ts';

t.test('the list has addresses, domains, and everybody', async (t) => {
  const list = ['anna@notes.example', '@friends.example'];
  for (const [email, may] of [
    ['anna@notes.example', true],
    ['ANNA@Notes.Example', true],
    ['ben@friends.example', true],
    ['ben@FRIENDS.example', true],
    ['"a@b"@friends.example', true],
    ['ben@notes.example', false],
    ['ben@x.friends.example', false],
    ['ben@xfriends.example', false],
    ['friends.example', false],
    ['ben@friends.example@elsewhere.example', false],
    ['', false],
  ] as const)
    t.equal(isAllowed(list, email), may, email);
  t.equal(
    isAllowed(['kim@notes.example'], '\u212aim@notes.example'),
    false,
    'another letter, though its small one is k',
  );
  t.equal(isAllowed(['*'], ''), true);
  t.equal(isAllowed([], ''), false);
});

t.test('an address counts where it is verified, and by who says so', async (t) => {
  const email = 'anna@notes.example';
  const long = `anna@${'x'.repeat(315)}`;
  t.equal(verifiedEmail([{ email: long, email_verified: true }]), long);
  t.equal(verifiedEmail([{ email, email_verified: true }]), email);
  t.equal(verifiedEmail([{}, { email, email_verified: true }]), email);
  for (const claims of [
    {},
    { email },
    { email, email_verified: false },
    { email, email_verified: 'true' },
    { email, email_verified: 1 },
    { email: [email], email_verified: true },
    { email: 'anna', email_verified: true },
    { email: 'a b@notes.example', email_verified: true },
    { email: `${long}x`, email_verified: true },
  ])
    t.equal(verifiedEmail([claims]), '', JSON.stringify(claims).slice(0, 60));
  t.equal(
    verifiedEmail([{ email }, { email, email_verified: true }]),
    email,
    'the other source names the same',
  );
  t.equal(
    verifiedEmail([
      { email, email_verified: true },
      { email, email_verified: 'true' },
    ]),
    email,
  );
  for (const denied of [false, 'false'])
    t.equal(
      verifiedEmail([
        { email, email_verified: denied },
        { email, email_verified: true },
      ]),
      '',
    );
  const mixed = [{ email: 'boss@notes.example' }, { email, email_verified: true }];
  t.equal(verifiedEmail(mixed), '', 'what one source says of its address says nothing of another one');
});

t.test('the sender is the first claim that is a text', async (t) => {
  const names = ['name', 'email'];
  t.equal(senderOf([{ name: 'Anna', email: 'a@b' }], names), 'Anna');
  t.equal(senderOf([{ email: 'a@b' }, { name: 'Anna' }], names), 'Anna', 'in this order, whoever says so');
  t.equal(senderOf([{ name: ' \n\u202e ', email: 'a@b' }], names), 'a@b');
  t.equal(senderOf([{ name: 7, email: 'a@b' }], names), 'a@b');
  t.equal(senderOf([{ name: 'A\tB\r\n\u2028C  D' }], names), 'A B C D');
  t.equal(senderOf([{ name: '\ud800' }], names), '\ufffd');
  t.equal(senderOf([{ name: '👩‍👩‍👧'.repeat(50) }], names), '👩‍👩‍👧'.repeat(20));
  t.equal(senderOf([{}], names), undefined);
});
