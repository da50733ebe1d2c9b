/** Error codes of endpoints for programs (RFC 6749 §5.2, RFC 7591 §3.2.2, RFC 8707 §2). */
export type OAuthErrorCode =
  | 'invalid_client'
  | 'invalid_client_metadata'
  | 'invalid_grant'
  | 'invalid_redirect_uri'
  | 'invalid_request'
  | 'invalid_target'
  | 'temporarily_unavailable'
  | 'unsupported_grant_type';

/** An error in the format of OAuth. */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode;

  /** `message` is one sentence in ASCII, for the client's developer. */
  constructor(code: OAuthErrorCode, message: string) {
    super(message);
    this.name = 'OAuthError';
    this.code = code;
  }
}
