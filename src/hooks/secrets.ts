import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { SecretCheck } from './hook.ts';

/** `X-Hub-Signature-256`: `sha256=` and the hexadecimal HMAC of the body. */
export const isSignedByGithub: SecretCheck = (secret, body, header) => {
  const sent = header('x-hub-signature-256');
  if (sent === undefined) return undefined;
  return isSame(sent, `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
};

/** `X-Gitlab-Token`: the secret itself. */
export const isTokenOfGitlab: SecretCheck = (secret, _body, header) => {
  const sent = header('x-gitlab-token');
  return sent === undefined ? undefined : isSame(sent, secret);
};

/** Compares by digests, so that the time reveals neither characters nor the length. */
function isSame(sent: string, expected: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(sent), digest(expected));
}
