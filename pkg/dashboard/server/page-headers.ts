/** Headers of the dashboard's own files. Its code and styles are files of its host, so that nothing inline has to be allowed. */

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // The page's one policy names the worker's file.
  'trusted-types worker',
].join('; ');

export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Browsers ask each time whether a file has changed.
  'cache-control': 'no-cache',
};

/** Of answers of the API on the dashboard's host: a browser that shows one as a page runs nothing of it. */
export const apiAnswerHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
};
