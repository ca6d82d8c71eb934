/**
 * Fields that exist only while their feature gate is on, as their declarations say. While it is off they are dropped
 * from what clients write, unless the stored object has them already: switching a feature off breaks nobody's objects.
 */
import type { ApiObjectShape } from '#api/object.js';
import { groupVersions } from '#api/scheme.gen.js';
import { typePrefix } from '#apimachinery/schema/compile.js';
import type { FieldDeclaration, MessageDeclaration, ResourceDeclaration } from '#apimachinery/schema/schema.js';

/** The way to a gated field: names of fields, and `anyElement` for what is in a list. */
export interface GatedPath {
  readonly gate: string;
  readonly steps: readonly string[];
  /** The field is not dropped but gets this value, with which nobody uses it. */
  readonly whileOff?: string;
}

export const anyElement = '*';

export interface Dropping {
  /** One function always gives the same answers. */
  readonly gate: (name: string) => boolean;
  /** What is stored; absent on create. */
  readonly old?: ApiObjectShape | undefined;
  /** Whether the request writes the status, or everything else. */
  readonly part: 'status' | 'main';
}

/** The gated fields of a resource. */
export class GatedFields {
  readonly #resource: ResourceDeclaration;
  #byGate: ReadonlyMap<string, readonly GatedPath[]> | undefined;
  /** What is off, by the function that says so. */
  readonly #disabled = new WeakMap<Dropping['gate'], Branch>();

  constructor(resource: ResourceDeclaration) {
    this.#resource = resource;
  }

  /** Looked for when first asked for: most programs write objects of few resources. */
  get byGate(): ReadonlyMap<string, readonly GatedPath[]> {
    this.#byGate ??= byGate(gatedPaths(this.#resource));
    return this.#byGate;
  }

  /** Removes, in place, the fields whose gate is off and that the stored object does not use. */
  drop(object: ApiObjectShape, { gate, old, part }: Dropping): void {
    // Hardly any object has such a field, and one look at all of them tells.
    if (!hasAny(object, this.#disabledBy(gate))) return;
    for (const [name, paths] of this.byGate) {
      if (gate(name) || (old !== undefined && paths.some((path) => uses(old, path, 0)))) continue;
      for (const path of paths) if (this.#partOf(path) === part) drop(object, path, 0);
    }
  }

  /** Where nobody writes the status apart, it is written with the rest. */
  #partOf({ steps }: GatedPath): Dropping['part'] {
    const apart = this.#resource.subresources?.some(({ name }) => name === 'status') === true;
    return apart && steps[0] === 'status' ? 'status' : 'main';
  }

  #disabledBy(gate: Dropping['gate']): Branch {
    let root = this.#disabled.get(gate);
    if (root === undefined) {
      root = new Branch();
      for (const [name, paths] of this.byGate) if (!gate(name)) for (const { steps } of paths) root.grow(steps);
      this.#disabled.set(gate, root);
    }
    return root;
  }
}

/** All messages, by full name. */
const types: ReadonlyMap<string, MessageDeclaration> = new Map(
  groupVersions.flatMap((gv) =>
    gv.kinds.flatMap((kind) =>
      Object.entries(kind.types).map(([name, message]) => [`${typePrefix(gv)}.${name}`, message] as const),
    ),
  ),
);

function gatedPaths({ group, version, kind }: ResourceDeclaration): GatedPath[] {
  return pathsBelow(`${group}.${version}.${kind}`, { steps: [], ungated: [], within: [] });
}

function byGate(paths: readonly GatedPath[]): ReadonlyMap<string, readonly GatedPath[]> {
  return new Map(paths.map(({ gate }) => [gate, paths.filter((path) => path.gate === gate)]));
}

interface Place {
  readonly steps: readonly string[];
  /** Gates that nothing here heeds. */
  readonly ungated: readonly string[];
  /** Types around it: some contain themselves. */
  readonly within: readonly string[];
}

function pathsBelow(type: string, place: Place): GatedPath[] {
  const message = types.get(type);
  if (message === undefined || place.within.includes(type)) return [];
  const prefix = type.slice(0, type.lastIndexOf('.'));
  return Object.entries(message.fields).flatMap(([name, field]) => {
    const own = field.inline ? place.steps : [...place.steps, name];
    const below: Place = {
      steps: field.repeated ? [...own, anyElement] : own,
      ungated: [...place.ungated, ...(field.ungated ?? [])],
      within: [...place.within, type],
    };
    const target = field.type.includes('.') ? field.type : `${prefix}.${field.type}`;
    return [...gatedHere(field, own, place.ungated), ...pathsBelow(target, below)];
  });
}

function gatedHere(
  { featureGate: gate, whileOff }: FieldDeclaration,
  steps: readonly string[],
  ungated: readonly string[],
): GatedPath[] {
  if (gate === undefined || ungated.includes(gate)) return [];
  return [{ gate, steps, ...(whileOff !== undefined && { whileOff }) }];
}

/** The paths of all gates that are off as one tree. */
class Branch {
  /** A path ends here; others may go on. */
  isEnd = false;
  readonly steps = new Map<string, Branch>();

  grow([step, ...rest]: readonly string[]): void {
    if (step === undefined) {
      this.isEnd = true;
      return;
    }
    const next = this.steps.get(step) ?? new Branch();
    this.steps.set(step, next);
    next.grow(rest);
  }
}

/** Whether the value has anything at the end of a path of the tree. */
function hasAny(value: unknown, { steps }: Branch): boolean {
  if (!isObject(value)) return false;
  for (const [step, below] of steps) {
    if (step === anyElement) {
      if (Array.isArray(value) && value.some((element) => hasAny(element, below))) return true;
    } else {
      const member = value[step];
      if (member !== undefined && (below.isEnd || hasAny(member, below))) return true;
    }
  }
  return false;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Whether `value` has something at the end of the path, of which `at` steps are done. */
function uses(value: unknown, path: GatedPath, at: number): boolean {
  const step = path.steps[at];
  if (step === undefined) return value !== undefined && value !== path.whileOff;
  if (step === anyElement) return Array.isArray(value) && value.some((element) => uses(element, path, at + 1));
  return isObject(value) && uses(value[step], path, at + 1);
}

function drop(value: unknown, path: GatedPath, at: number): void {
  const step = path.steps[at];
  if (step === undefined || !isObject(value)) return;
  if (step === anyElement) {
    if (Array.isArray(value)) for (const element of value) drop(element, path, at + 1);
  } else if (at < path.steps.length - 1) drop(value[step], path, at + 1);
  else if (value[step] === undefined) return;
  else if (path.whileOff === undefined) delete value[step];
  else value[step] = path.whileOff;
}
