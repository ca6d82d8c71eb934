/** Errors caused by webhooks, in the words of 1.24 (`plugin/webhook/errors`, `util/webhook/error.go`). */
import { badRequest, type Status, StatusError } from '#apimachinery/errors/status.js';

/** The webhook could not be called, or its answer is invalid: its failure policy decides about the request. */
export class CallingWebhookError extends Error {
  override readonly name = 'CallingWebhookError';
  /** Code in metrics. */
  readonly code: number;
  /** True: the caller no longer waits for the answer. */
  readonly canceled: boolean;

  constructor(
    webhook: string,
    reason: string,
    { code, canceled = false, cause }: { code: number; canceled?: boolean; cause?: unknown },
  ) {
    super(`failed calling webhook ${JSON.stringify(webhook)}: ${reason}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.canceled = canceled;
  }
}

/** The webhook refuses the request. */
export class WebhookDenial extends Error {
  override readonly name = 'WebhookDenial';
  readonly status: StatusError;

  constructor(webhook: string, answer: Status | undefined) {
    const status = denial(webhook, answer);
    super(status.message);
    this.status = status;
  }
}

function denial(webhook: string, answer: Status = {}): StatusError {
  const deniedBy = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const { message = '', reason = '', code = 0, details } = answer;
  const why = message !== '' ? message : reason;
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: why === '' ? `${deniedBy} without explanation` : `${deniedBy}: ${why}`,
    ...(reason === '' ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    // A denial always has an error status, whatever code the webhook sends.
    code: code < 400 || code > 599 ? 400 : code,
  });
}

/** The 400 error for a dry run. */
export function dryRunUnsupported(webhook: string): StatusError {
  return badRequest(`admission webhook ${JSON.stringify(webhook)} does not support dry run`);
}
