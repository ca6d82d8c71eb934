/** The last words of a failed command, as release 1.24 says them (kubectl, pkg/cmd/util/helpers.go). */
import { messageOf } from '#apimachinery/errors/message.js';
import { type Status, StatusError, statusOf } from '#apimachinery/errors/status.js';
import { CommandError, PlainError, SilentExit, UsageError } from '#cmd/orchctl/terminal/errors.js';
import { OptionsError } from '#daemon/options/option.js';

export interface Report {
  /** Ends with a line break, or is empty. */
  readonly text: string;
  readonly exitCode: number;
}

/** @param path The words of the command: `orchctl create secret`. */
export function reportOf(error: unknown, path: string): Report {
  if (error instanceof SilentExit) return { text: '', exitCode: error.exitCode };
  if (error instanceof UsageError) {
    return line(`error: ${error.message}\nSee '${path} -h' for help and examples`);
  }
  if (error instanceof OptionsError) return line(`error: ${error.message}\nSee '${path} --help' for usage.`);
  if (error instanceof CommandError) return line(`error: ${error.message}`, error.exitCode);
  if (error instanceof PlainError) return line(error.message);
  if (error instanceof AggregateError) return line(error.errors.map(errorText).join('\n'));
  const status = statusOf(error);
  if (status?.reason === 'Invalid') return { text: invalidText(status), exitCode: 1 };
  const text = standardText(error);
  return line(text ?? `error: ${messageOf(error).replace(/^error: /, '')}`);
}

/** The message of an error among several, which has no prefix unless the server sent it. */
function errorText(error: unknown): string {
  return standardText(error) ?? messageOf(error);
}

function line(text: string, exitCode = 1): Report {
  return { text: text.endsWith('\n') ? text : `${text}\n`, exitCode };
}

function standardText(error: unknown): string | undefined {
  const refused = refusedBy(error);
  if (refused !== undefined) {
    return `The connection to the server ${refused} was refused - did you specify the right host or port?`;
  }
  if (!(error instanceof StatusError)) return undefined;
  const { reason = '', message = '' } = statusOf(error) ?? {};
  if (reason === 'Unauthorized') return `error: You must be logged in to the server (${message})`;
  return reason === '' ? `Error from server: ${message}` : `Error from server (${reason}): ${message}`;
}

/** Host and port of a refused connection. */
function refusedBy(error: unknown): string | undefined {
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    const { code, address, port } = each as NodeJS.ErrnoException & { address?: string; port?: number };
    if (code === 'ECONNREFUSED') return address === undefined ? 'localhost' : `${address}:${String(port)}`;
    if (each instanceof AggregateError) {
      const [first] = each.errors as unknown[];
      return refusedBy(first);
    }
  }
  return undefined;
}

/** `The Pod "web" is invalid: `, with one cause on the line or several below it. */
function invalidText({ message = '', details }: Status): string {
  const plain = 'The request is invalid';
  if (details === undefined) return `${plain}${message === '' ? '' : `: ${message}`}\n`;
  const { kind = '', name = '' } = details;
  const causes = [...new Set((details.causes ?? []).map((cause) => `${cause.field ?? ''}: ${cause.message ?? ''}`))];
  const isNamed = kind !== '' || name !== '';
  const head = isNamed
    ? `The ${kind} ${JSON.stringify(name)} is invalid`
    : `${plain}${message !== '' && causes.length === 0 ? `: ${message}` : ''}`;
  if (causes.length === 0) return `${head}\n`;
  if (causes.length === 1) return `${head}: ${causes[0]}\n`;
  return `${head}: \n${causes.map((cause) => `* ${cause}\n`).join('')}`;
}
