/** What writes go through, writing into every object that it is given to change. */

import type { ApiObjectShape } from '#api/meta/object.js';
import type { PartUpdate, Strategy } from '#api/strategy/strategy.js';
import type { Draft } from '#apimachinery/draft.js';
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import type { WriteHook } from '#apiserver/resources/write-hook.js';

/** Writes into every part, and leaves all as it was. Throws a TypeError where a part cannot be written. */
function scribble(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const parts = value as Record<string, unknown>;
  for (const name of Object.keys(parts)) {
    // Read only, as its type says.
    if (name === 'fieldsV1') continue;
    const part = parts[name];
    parts[name] = undefined;
    parts[name] = part;
    scribble(part);
  }
  if (Array.isArray(value)) {
    value.push(undefined);
    value.pop();
    return;
  }
  parts['scribbled'] = true;
  delete parts['scribbled'];
}

/** Writes into every part, so that no text and no number is what it was. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const parts = value as Record<string, unknown>;
  for (const [name, part] of Object.entries(parts)) {
    if (name === 'fieldsV1') continue;
    if (typeof part === 'string') parts[name] = `${part}-spoilt`;
    else if (typeof part === 'number') parts[name] = part + 1;
    else spoil(part);
  }
}

/** Spoils objects of dry runs, and scribbles into all others. */
export const scribblingPlugin: AdmissionPlugin = {
  name: 'Scribbling',
  handles: () => true,
  admit({ object, dryRun, operation }) {
    if (operation === 'DELETE' || operation === 'CONNECT') return;
    if (dryRun) spoil(object);
    else scribble(object);
  },
};

export const scribblingHook: WriteHook = {
  handles: () => true,
  async beforeCreate(object, { dryRun }) {
    (dryRun ? spoil : scribble)(object);
    return undefined;
  },
  async beforeUpdate(object, _old, { dryRun }) {
    (dryRun ? spoil : scribble)(object);
    return undefined;
  },
};

type Change = (object: Draft<ApiObjectShape>, ...others: readonly never[]) => void;

/** The same, with the object scribbled into before and behind it. */
function around<C extends Change>(change: C): C {
  return ((object: Draft<ApiObjectShape>, ...others: readonly never[]) => {
    scribble(object);
    change(object, ...others);
    scribble(object);
  }) as C;
}

/** The same only before it, where what it has put back is shared. */
function before<C extends Change>(change: C): C {
  return ((object: Draft<ApiObjectShape>, ...others: readonly never[]) => {
    scribble(object);
    change(object, ...others);
  }) as C;
}

/** A strategy that scribbles wherever it may change an object. */
export function scribbling(strategy: Strategy): Strategy {
  const { defaults, prepareForCreate, completeCreate, prepareForUpdate, prepareForStatusUpdate, partUpdates } =
    strategy;
  const parts = Object.entries(partUpdates ?? {}).map(([name, part]): [string, PartUpdate] => [
    name,
    { ...part, prepare: around(part.prepare) },
  ]);
  return {
    ...strategy,
    ...(defaults && { defaults: around(defaults) }),
    ...(prepareForCreate && { prepareForCreate: around(prepareForCreate) }),
    ...(completeCreate && { completeCreate: around(completeCreate) }),
    ...(prepareForUpdate && { prepareForUpdate: around(prepareForUpdate) }),
    ...(prepareForStatusUpdate && { prepareForStatusUpdate: before(prepareForStatusUpdate) }),
    ...(partUpdates && { partUpdates: Object.fromEntries(parts) }),
  };
}
