/** What commands that write share: dry runs, the field manager, and the words that say what was done. */
import { messageOf } from '#apimachinery/errors/message.js';
import { StatusError, statusOf } from '#apimachinery/errors/status.js';
import type { ApiObject } from '#client/client.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { kindName, objectPrinter } from '#cmd/orchctl/print/formats.js';
import { withoutManagedFields } from '#cmd/orchctl/print/object.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';
import type { Values } from '#cmd/orchctl/terminal/values.js';

export type DryRun = 'none' | 'client' | 'server';

/** Throws a CommandError. */
export function dryRunOf(values: Values): DryRun {
  const text = values.string('dry-run') ?? 'none';
  if (text === 'unchanged' || /^(1|t|T|true|TRUE|True)$/.test(text)) return 'client';
  if (/^(0|f|F|false|FALSE|False)$/.test(text)) return 'none';
  if (text === 'none' || text === 'client' || text === 'server') return text;
  throw new CommandError(`Invalid dry-run value (${text}). Must be "none", "server", or "client".`);
}

const suffixes: Readonly<Record<DryRun, string>> = { none: '', client: ' (dry run)', server: ' (server dry run)' };

/** Query parameters of a write. */
export function writeQuery(values: Values, dryRun: DryRun): Record<string, string | undefined> {
  const manager = values.string('field-manager') ?? '';
  return {
    dryRun: dryRun === 'server' ? 'All' : undefined,
    fieldManager: manager === '' ? undefined : manager,
  };
}

/** Says what happened to an object, or prints it, as `--output` has it. */
export type ResultPrinter = (object: ApiObject, verb: string) => void;

/** @param ordered Whether JSON keeps the order of members, as for kinds that the command knows. */
export async function resultPrinter(
  { out, values }: Invocation,
  dryRun: DryRun,
  { ordered = false }: { readonly ordered?: boolean } = {},
): Promise<ResultPrinter> {
  const print = await objectPrinter(values, { ordered });
  return (object, verb) => {
    if (print === undefined) out.write(`${kindName(object)} ${verb}${suffixes[dryRun]}\n`);
    else out.write(print(values.bool('show-managed-fields') ? object : withoutManagedFields(object)));
  };
}

/** The error with the file that the object came from. */
export function withSource(verb: string, source: string, error: unknown): unknown {
  const words = `error when ${verb} ${JSON.stringify(source)}: ${messageOf(error)}`;
  const status = statusOf(error);
  return error instanceof StatusError && status !== undefined
    ? new StatusError({ ...status, message: words })
    : new CommandError(words);
}
