import { createHmac } from 'node:crypto';
import { secretMatcher } from '../signed.ts';
import type { SecretCheck } from './hook.ts';

/** `X-Hub-Signature-256`: `sha256=` and the hexadecimal HMAC of the body. */
export const isSignedByGithub: SecretCheck = (secret, body, header) => {
  const sent = header('x-hub-signature-256');
  if (sent === undefined) return undefined;
  return secretMatcher(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)(sent);
};

/** `X-Gitlab-Token`: the secret itself. */
export const isTokenOfGitlab: SecretCheck = (secret, _body, header) => {
  const sent = header('x-gitlab-token');
  return sent === undefined ? undefined : secretMatcher(secret)(sent);
};
