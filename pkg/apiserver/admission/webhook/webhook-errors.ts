/** How a request fails because of a webhook, in the words of 1.24 (`plugin/webhook/errors`, `util/webhook/error.go`). */
import { badRequest, type Status, StatusError } from '#apimachinery/errors/status.js';

/** The webhook could not be asked, or its answer is none: its failure policy says what becomes of the request. */
export class CallingWebhookError extends Error {
  override readonly name = 'CallingWebhookError';
  /** For metrics. */
  readonly code: number;
  /** True: because nobody waits for the answer any more. */
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

  constructor(webhook: string, given: Status | undefined) {
    const status = denial(webhook, given);
    super(status.message);
    this.status = status;
  }
}

function denial(webhook: string, given: Status = {}): StatusError {
  const deniedBy = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const { message = '', reason = '', code = 0, details } = given;
  const why = message !== '' ? message : reason;
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: why === '' ? `${deniedBy} without explanation` : `${deniedBy}: ${why}`,
    ...(reason === '' ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    // A refusal is no success, whatever the webhook calls it; nor is it any code that no server could send.
    code: code < 400 || code > 599 ? 400 : code,
  });
}

/** 400. */
export function dryRunUnsupported(webhook: string): StatusError {
  return badRequest(`admission webhook ${JSON.stringify(webhook)} does not support dry run`);
}
