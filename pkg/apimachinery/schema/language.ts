/**
 * The functions that declare kinds: a field is one line, `name: presence(number, type, rules, doc)`.
 *
 * ```ts
 * export const declaration = defineTypes({
 *   types: {
 *     Turn: object('A turn in a game.', {
 *       spec: optional(2, 'TurnSpec', 'The player and the deadline.'),
 *     }),
 *   },
 *   resources: [{ resource: 'turns', kind: 'Turn', subresources: ['status'] }],
 * });
 * ```
 */
import type {
  ColumnDeclaration,
  FieldDeclaration,
  FieldRules,
  KindDeclaration,
  MessageDeclaration,
  ResourceDeclaration,
  Scalar,
  Shape,
  SubresourceDeclaration,
} from '#apimachinery/schema/schema.js';

/** Rules are optional; the doc is omitted only in types whose JSON is not an object. */
type Described = [doc?: string] | [rules: FieldRules, doc?: string];

/** A field that is always present and serialized. `type` may be `T[]`, a list, or `map<string, T>`. */
export function required(number: number, type: string, ...described: Described): FieldDeclaration {
  const [rules, doc] = typeof described[0] === 'object' ? described : [{}, described[0]];
  return { number, ...typeOf(type), ...(rules as FieldRules), ...(doc !== undefined && { doc }) };
}

/** A field that may be absent and is omitted if empty, zero or false. */
export function optional(number: number, type: string, ...described: Described): FieldDeclaration {
  return { omitempty: true, optional: true, ...required(number, type, ...described) };
}

/** A field that may be absent, which differs from empty, zero and false. */
export function pointer(number: number, type: string, ...described: Described): FieldDeclaration {
  return { pointer: true, omitempty: true, optional: true, ...required(number, type, ...described) };
}

/** A message whose fields are inlined into its parent in JSON; its key begins with `~`. */
export function inlined(number: number, type: string, rules: FieldRules = {}): FieldDeclaration {
  return { ...required(number, type, rules), inline: true };
}

function typeOf(text: string): { type: string; repeated?: true; map?: Scalar } {
  if (text.endsWith('[]')) return { type: text.slice(0, -2), repeated: true };
  const [, map, type] = /^map<(\w+), (.+)>$/.exec(text) ?? [];
  return type === undefined ? { type: text } : { type, map: map as Scalar };
}

type Fields = MessageDeclaration['fields'];

export function message(doc: string, fields: Fields): MessageDeclaration {
  return { doc, fields };
}

/**
 * A message with exactly one field set, besides the discriminator if there is one. Rules check fields in declaration
 * order: of two set fields, 1.24 reports the later one.
 */
export function union(doc: string, fields: Fields): MessageDeclaration {
  return partialUnion(
    doc,
    Object.keys(fields).filter((name) => fields[name]?.discriminator === undefined),
    fields,
  );
}

/** A message with exactly one of `members` set, in this order, next to other fields. */
export function partialUnion(doc: string, members: readonly string[], fields: Fields): MessageDeclaration {
  return { doc, fields, union: members };
}

/** A message that server-side apply always treats as one value, because its parts depend on each other. */
export function atomic(doc: string, fields: Fields): MessageDeclaration {
  return { doc, fields, atomic: true };
}

/** A message whose JSON is not an object of its fields. `typescript`: the type, if the shape does not determine it. */
export function shaped(shape: Shape, doc: string, fields: Fields, typescript?: string): MessageDeclaration {
  return { doc, fields, shape, ...(typescript !== undefined && { typescript }) };
}

/** A top-level kind without metadata: it has only `apiVersion` and `kind`. */
export function bareKind(doc: string, fields: Fields): MessageDeclaration {
  return { doc, fields, isKind: true };
}

const objectMetadata = "Standard object's metadata: name, labels, annotations and other data that every object has.";

/** A kind with metadata, which is added automatically. */
export function object(doc: string, fields: Fields): MessageDeclaration {
  return { doc, fields: { metadata: optional(1, 'meta.v1.ObjectMeta', objectMetadata), ...fields }, isKind: true };
}

/**
 * A condition with the common fields; some kinds restrict the values of `type` and `status`. `others` come before the
 * time of the last transition, which gets the next number unless specified.
 */
export function condition(
  doc: string,
  { type = {}, status = {} }: { readonly type?: FieldRules; readonly status?: FieldRules } = {},
  others: Fields = {},
  transition = 3 + Object.keys(others).length,
): MessageDeclaration {
  return message(doc, {
    type: required(1, 'string', type, 'Aspect that the condition describes.'),
    status: required(2, 'string', status, 'Whether the condition holds: `True`, `False` or `Unknown`.'),
    ...others,
    lastTransitionTime: optional(transition, 'meta.v1.Time', 'When the status last changed.'),
    reason: optional(transition + 1, 'string', 'One CamelCase word on why the status last changed, for programs.'),
    message: optional(transition + 2, 'string', 'Details of the last change of the status, for people.'),
  });
}

/** The list of a kind. `defineTypes` adds every list that needs no rules. `plural`: its name in texts. */
export function listOf(kind: string, plural: string, rules: FieldRules = {}): MessageDeclaration {
  const metadata = 'Standard list metadata: its resource version, and where to continue when it comes in chunks.';
  return {
    doc: `A list of ${kind} objects.`,
    fields: {
      metadata: optional(1, 'meta.v1.ListMeta', metadata),
      items: required(2, `${kind}[]`, rules, `List of ${plural}.`),
    },
    isKind: true,
  };
}

/** A resource without default values. */
export interface ServedResource
  extends Omit<
    ResourceDeclaration,
    'group' | 'version' | 'singular' | 'namespaced' | 'verbs' | 'subresources' | 'columns'
  > {
  /** Absent: true. */
  readonly namespaced?: false;
  /** Absent: all eight. */
  readonly verbs?: readonly string[];
  /** A name alone stands for the resource's own kind with get, patch and update. */
  readonly subresources?: readonly (
    | string
    | (Pick<SubresourceDeclaration, 'name'> & Partial<SubresourceDeclaration>)
  )[];
  /** A name alone stands for a string column. */
  readonly columns?: readonly (string | ColumnDeclaration)[];
}

const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const partVerbs = ['get', 'patch', 'update'];

/** The subresource through which autoscalers access any workload. */
export const scale = { name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1' } as const;

/** String columns for wide output only. */
export function wide(...names: string[]): ColumnDeclaration[] {
  return names.map((name) => ({ ...column(name), priority: 1 }));
}

function column(name: string): ColumnDeclaration {
  return name === 'Name' ? { name, type: 'string', format: 'name' } : { name, type: 'string' };
}

/** Completes the declarations of a file with all defaults. Rules use its enums. */
export function defineTypes<T extends string, E extends string = never>({
  types,
  enums,
  resources = [],
}: {
  readonly types: Readonly<Record<T, MessageDeclaration>>;
  /** Values in the order of messages. */
  readonly enums?: Readonly<Record<E, readonly string[]>>;
  readonly resources?: readonly ServedResource[];
}): KindDeclaration & {
  readonly types: Readonly<Record<T, MessageDeclaration>>;
  readonly enums: Readonly<Record<E, readonly string[]>>;
} {
  const full = resources.map(fullResource);
  const listed = new Map(
    full.filter(({ verbs }) => verbs.includes('list')).map(({ kind, resource }) => [kind, resource]),
  );
  const declared: KindDeclaration['types'] = types;
  const withLists = Object.entries(declared).flatMap(([name, type]) => {
    const plural = listed.get(name);
    return plural === undefined
      ? [[name, type] as const]
      : [[name, type] as const, [`${name}List`, declared[`${name}List`] ?? listOf(name, plural)] as const];
  });
  return {
    types: Object.fromEntries(withLists) as Record<T, MessageDeclaration>,
    enums: enums ?? ({} as Readonly<Record<E, readonly string[]>>),
    ...(full.length > 0 && { resources: full }),
  };
}

function fullResource(resource: ServedResource): NonNullable<KindDeclaration['resources']>[number] {
  const { kind, namespaced = true, verbs = allVerbs, subresources, columns } = resource;
  return {
    ...resource,
    singular: kind.toLowerCase(),
    namespaced,
    verbs,
    ...(subresources && {
      subresources: subresources.map((part) => ({
        kind,
        verbs: partVerbs,
        ...(typeof part === 'string' ? { name: part } : part),
      })),
    }),
    ...(columns && { columns: columns.map((part) => (typeof part === 'string' ? column(part) : part)) }),
  } as NonNullable<KindDeclaration['resources']>[number];
}
