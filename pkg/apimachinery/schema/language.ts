/**
 * The words in which kinds are declared: a field is one line, `name: presence(number, type, rules, doc)`.
 *
 * ```ts
 * export const declaration = defineTypes({
 *   types: {
 *     Turn: object('Whose turn it is.', {
 *       spec: optional(2, 'TurnSpec', 'Who is to come.'),
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

/** Rules may be left out; only parts of types whose JSON is no object have no doc. */
type Described = [doc?: string] | [rules: FieldRules, doc?: string];

/** A field that is always there, and always written. `type` may be `T[]`, a list, or `map<string, T>`. */
export function required(number: number, type: string, ...described: Described): FieldDeclaration {
  const [rules, doc] = typeof described[0] === 'object' ? described : [{}, described[0]];
  return { number, ...typeOf(type), ...(rules as FieldRules), ...(doc !== undefined && { doc }) };
}

/** A field that may be absent and is left out when it is empty, zero or false. */
export function optional(number: number, type: string, ...described: Described): FieldDeclaration {
  return { omitempty: true, optional: true, ...required(number, type, ...described) };
}

/** A field that may be absent, which is told from empty, zero and false. */
export function pointer(number: number, type: string, ...described: Described): FieldDeclaration {
  return { pointer: true, omitempty: true, optional: true, ...required(number, type, ...described) };
}

/** A message whose fields stand among those of its parent in JSON; its key begins with `~`. */
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
 * A message of whose fields one is set, besides the discriminator if it has one. The order of the fields is that in which
 * rules look at them: of two, 1.24 reports the later one.
 */
export function union(doc: string, fields: Fields): MessageDeclaration {
  return partialUnion(
    doc,
    Object.keys(fields).filter((name) => fields[name]?.discriminator === undefined),
    fields,
  );
}

/** A message of whose `members`, in this order, one is set, whatever else is. */
export function partialUnion(doc: string, members: readonly string[], fields: Fields): MessageDeclaration {
  return { doc, fields, union: members };
}

/** A message that is one value to server-side apply wherever it stands: its parts mean nothing without each other. */
export function atomic(doc: string, fields: Fields): MessageDeclaration {
  return { doc, fields, atomic: true };
}

/** A message whose JSON is not an object of its fields. `typescript` where the shape leaves the type open. */
export function shaped(shape: Shape, doc: string, fields: Fields, typescript?: string): MessageDeclaration {
  return { doc, fields, shape, ...(typescript !== undefined && { typescript }) };
}

/** A kind that is no object: it stands alone, with `apiVersion` and `kind`, but has no metadata. */
export function bareKind(doc: string, fields: Fields): MessageDeclaration {
  return { doc, fields, isKind: true };
}

const objectMetadata = "Standard object's metadata: name, labels, annotations and other data that every object has.";

/** A kind of objects: `metadata` comes by itself. */
export function object(doc: string, fields: Fields): MessageDeclaration {
  return { doc, fields: { metadata: optional(1, 'meta.v1.ObjectMeta', objectMetadata), ...fields }, isKind: true };
}

/**
 * One aspect of a state, as most kinds have it; some give the values of `type` and `status`. `others` are what it has
 * before the time of the last transition, whose number follows theirs unless it is given.
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

/**
 * The list of a kind. `defineTypes` makes it for every resource that can be listed; declared only where it has rules.
 * `plural`: how its description names them.
 */
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

/** A resource, with what goes without saying left out. */
export interface ServedResource
  extends Omit<
    ResourceDeclaration,
    'group' | 'version' | 'singular' | 'namespaced' | 'verbs' | 'subresources' | 'columns'
  > {
  /** Absent: true. */
  readonly namespaced?: false;
  /** Absent: all eight. */
  readonly verbs?: readonly string[];
  /** A mere name, and what is left out: of the resource's own kind, to get, patch and update. */
  readonly subresources?: readonly (
    | string
    | (Pick<SubresourceDeclaration, 'name'> & Partial<SubresourceDeclaration>)
  )[];
  /** A mere name: of strings. */
  readonly columns?: readonly (string | ColumnDeclaration)[];
}

const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const partVerbs = ['get', 'patch', 'update'];

/** The subresource in which autoscalers see workloads of all kinds. */
export const scale = { name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1' } as const;

/** Columns of strings that are shown in wide output only. */
export function wide(...names: string[]): ColumnDeclaration[] {
  return names.map((name) => ({ ...column(name), priority: 1 }));
}

function column(name: string): ColumnDeclaration {
  return name === 'Name' ? { name, type: 'string', format: 'name' } : { name, type: 'string' };
}

/** What one file declares, with all that goes without saying filled in. Rules take enums from here. */
export function defineTypes<T extends string, E extends string = never>({
  types,
  enums,
  resources = [],
}: {
  readonly types: Readonly<Record<T, MessageDeclaration>>;
  /** Values in the order in which messages list them. */
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
