/** Subcommands of `create` that build one object from flags. */
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { ApiObject } from '#client/client.js';
import { collectionPath, withQuery } from '#cmd/orchctl/api/api.js';
import { withAppliedAnnotation } from '#cmd/orchctl/commands/applied.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { dryRunOption, managerOption } from '#cmd/orchctl/commands/options.js';
import { dryRunOf, resultPrinter, writeQuery } from '#cmd/orchctl/commands/writing.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';
import { directiveOf, validateOption } from '#cmd/orchctl/validation/validate.js';
import type { OptionTable } from '#daemon/options/option.js';

export const saveConfigOption = {
  'save-config': {
    type: 'bool',
    section: 'Writing',
    meaning: 'Keep the object in an annotation, so that a later apply knows which fields it set.',
  },
} as const satisfies OptionTable;

export const fieldManager = 'orchctl-create';

export interface ObjectBuilder {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly usage: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly options: OptionTable;
  /** Words in front of the server's refusal: `failed to create deployment: `. Absent: the refusal alone. */
  readonly failure?: string;
  /** Builds the object, in the order of its fields and with what release 1.24 prints of empty ones. Throws a CommandError. */
  build(invocation: Invocation, name: string): ApiObject | Promise<ApiObject>;
}

export function builderCommand(builder: ObjectBuilder): Command {
  const { build, failure, ...rest } = builder;
  return {
    ...rest,
    options: {
      ...builder.options,
      ...dryRunOption,
      ...managerOption(fieldManager),
      ...printOptions,
      ...saveConfigOption,
      ...validateOption,
    },
    async run(invocation) {
      const name = nameOf(invocation);
      const { values } = invocation;
      const directive = directiveOf(values.string('validate') ?? 'strict');
      const dryRun = dryRunOf(values);
      const built = inNamespace(await build(invocation, name), invocation);
      const print = await resultPrinter(invocation, dryRun, { ordered: true });
      const object = values.bool('save-config') ? await withAppliedAnnotation(built, invocation) : built;
      const created =
        dryRun === 'client'
          ? object
          : await post(invocation, object, { ...writeQuery(values, dryRun), fieldValidation: directive }, failure);
      print(created, 'created');
      return 0;
    },
  };
}

/** The one name among the arguments. Throws a UsageError. */
export function nameOf({ args }: Invocation): string {
  const [name] = args;
  if (name === undefined || args.length !== 1) {
    throw new UsageError(`exactly one NAME is required, got ${args.length}`);
  }
  return name;
}

const clusterScoped = new Set(['Namespace', 'ClusterRole', 'ClusterRoleBinding', 'PriorityClass']);

/** With the namespace of the command line, which release 1.24 writes into the object. */
function inNamespace(object: ApiObject, { namespace, values }: Invocation): ApiObject {
  if (clusterScoped.has(object.kind ?? '') || !values.isSet('namespace')) return object;
  return { ...object, metadata: { ...object.metadata, namespace } };
}

async function post(
  invocation: Invocation,
  object: ApiObject,
  query: Record<string, string | undefined>,
  failure: string | undefined,
): Promise<ApiObject> {
  const { api, namespace } = invocation;
  const resource = (await api.catalog()).byKind(object.apiVersion ?? '', object.kind ?? '');
  const path = withQuery(collectionPath(resource, { namespace }), query);
  try {
    return await api.json<ApiObject>('POST', path, object);
  } catch (error) {
    if (failure === undefined) throw error;
    throw new CommandError(`${failure}${messageOf(error)}`);
  }
}

/** The names of the server, or of orch where the object is only printed and there is no server. */
export async function dialectOf(invocation: Invocation): Promise<Dialect> {
  if (dryRunOf(invocation.values) !== 'client') return (await invocation.api.catalog()).dialect;
  try {
    return (await invocation.api.catalog()).dialect;
  } catch {
    return orchDialect;
  }
}

/** The metadata of a new object, as release 1.24 prints it before the server has set its time. */
export function newMetadata(name: string | undefined, more: object = {}): ApiObject['metadata'] {
  return {
    ...(name === undefined ? {} : { name }),
    creationTimestamp: null,
    ...more,
  } as unknown as ApiObject['metadata'];
}
