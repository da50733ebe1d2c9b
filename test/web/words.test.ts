/** What people read of a refusal, wherever a page meets it. */
import t from 'tap';
import { REFUSALS } from '../../src/refusals.ts';
import { explain, wordsFor } from '../../src/web/words.ts';

/** What only programs know. */
const TECHNICAL = /\bX-|Bearer|If-Match|Content-Type|\bJSON\b|\bheaders?\b|\bmembers?\b|\bbody\b|[{}=]/;
const CODES = Object.keys(REFUSALS);

t.test('each code has words with a way out, and none that only programs know', async (t) => {
  for (const code of CODES) {
    t.notMatch(wordsFor(code), TECHNICAL, code);
    t.match(wordsFor(code), /^[A-Z].*\.$/, code);
  }
  const unknown = wordsFor('of a later version');
  for (const code of [undefined, 'constructor', '']) t.equal(wordsFor(code), unknown);
  t.equal(
    wordsFor('busy', 20),
    'The service has a lot to do right now. Nothing is lost. Try again in 20 seconds.',
  );
  t.match(wordsFor('busy', 1), /in 1 second\.$/);
  t.match(wordsFor('busy', 130), /in 3 minutes\.$/);
});

t.test('a message about what somebody typed is shown as it is, in words of a page', async (t) => {
  for (const [code, message, words] of [
    ['invalid_request', 'The tag "a b" has a space in it.', 'The tag "a b" has a space in it.'],
    [
      'invalid_request',
      'X-Note-Title must be at most 100 characters long.',
      'The title must be at most 100 characters long.',
    ],
    ['invalid_request', 'title must be one line.', 'Title must be one line.'],
    [
      'invalid_request',
      'q must be at most 200 characters long.',
      'The search must be at most 200 characters long.',
    ],
    ['invalid_request', 'q: this instance has no search.', 'This instance has no search.'],
    ['too_large', 'A picture may have at most 10485760 bytes.', 'A picture may have at most 10 MB.'],
    ['too_large', 'A text may have at most 102400 bytes.', 'A text may have at most 100 KB.'],
    [
      'unsupported_type',
      'attachment "X-a_b=1.png" is no picture.',
      'Attachment "X-a_b=1.png" is no picture.',
    ],
    ['auth', 'That is not the password of this feed.', 'That is not the password of this feed.'],
  ] as const)
    t.equal(explain({ code, message }), words);
  t.equal(explain({ code: 'changed', message: 'It was emptied.', field: 'title' }), 'It was emptied.');
});

t.test('any other message gives way to the words of its code', async (t) => {
  for (const [code, message] of [
    ['auth', 'This feed has a password: unlock it in the browser, or send X-Feed-Password.'],
    ['auth', 'This instance has a password: send it as Authorization: Bearer.'],
    ['invalid_request', 'The header X-Note-Title is not valid UTF-8.'],
    ['invalid_request', 'X-Note-Title must have the form UTF-8%27%27caf%C3%A9 (RFC 8187).'],
    ['invalid_request', 'Changing it ends all links: send sure=1 to agree.'],
    ['invalid_body', 'The member "title" of the body must be a text.'],
    ['invalid_body', 'The body is not JSON in UTF-8, or has too many values.'],
    ['too_large', 'The body may have at most 8192 bytes.'],
    ['changed', 'It was changed meanwhile: read it again, and then decide.'],
    ['store_unavailable', 'The storage cannot be used at the moment.'],
  ] as const)
    t.equal(explain({ code, message }), wordsFor(code), message);
  const waits = {
    code: 'rate_limited',
    message: 'Too many changes: please wait 20 seconds.',
    retryAfter: 20,
  };
  t.equal(explain(waits), wordsFor('rate_limited', 20));
});
