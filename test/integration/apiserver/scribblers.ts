/**
 * Plugins, hooks and strategies that write into every object that they may change, and check that read-only objects stay
 * unchanged.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { PartUpdate, Strategy } from '#api/strategy/strategy.js';
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import type { ApiHandler } from '#apiserver/http/exchange.js';
import type { WriteHook } from '#apiserver/resources/write-hook.js';
import { type Decode, decodeJson } from '#storage/cache/cache-entry.js';

/** Read-only, as in its type, and shared. */
const fieldSet = 'fieldsV1';

type Parts = Record<string, unknown>;

const isParts = (value: unknown): value is Parts => typeof value === 'object' && value !== null;

/** Writes into every part and restores it. Throws a TypeError if a part cannot be written. */
function scribble(value: unknown): void {
  if (!isParts(value)) return;
  for (const name of Object.keys(value)) {
    if (name === fieldSet) continue;
    const part = value[name];
    value[name] = undefined;
    value[name] = part;
    scribble(part);
  }
  if (Array.isArray(value)) {
    value.push(undefined);
    value.pop();
    return;
  }
  value['scribbled'] = true;
  delete value['scribbled'];
}

/** Changes every text and number. */
function spoil(value: unknown): void {
  if (!isParts(value)) return;
  for (const [name, part] of Object.entries(value)) {
    if (name === fieldSet) continue;
    if (typeof part === 'string') value[name] = `${part}-spoilt`;
    else if (typeof part === 'number') value[name] = part + 1;
    else spoil(part);
  }
}

function* partsOf(value: unknown): Generator<Parts> {
  if (!isParts(value)) return;
  yield value;
  for (const [name, part] of Object.entries(value)) if (name !== fieldSet) yield* partsOf(part);
}

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}` : part)) ?? '';

const isObject = (value: unknown): boolean => isParts(value) && isParts(value['metadata']);

/** Objects from caches are remembered until they are checked. */
interface GivenOut {
  readonly object: object;
  readonly text: string;
}

/** Strategy functions that only read objects. */
const looking = [
  'validateCreate',
  'validateUpdate',
  'validateStatusUpdate',
  'warnings',
  'cells',
  'selectableFields',
  'heldBySpec',
  'terminating',
  'defaultGracePeriodSeconds',
  'scaleSelector',
] as const;

/** Strategy functions that change their first argument and only read the stored object. */
const changing = [
  'defaults',
  'prepareForCreate',
  'completeCreate',
  'prepareForUpdate',
  'prepareForStatusUpdate',
] as const;

type Call = (...given: readonly unknown[]) => unknown;

export class Scribblers {
  /** Failures since the last check. */
  readonly #problems: string[] = [];
  readonly #requests = new AsyncLocalStorage<object>();
  /** The request that may change each part of an object. */
  readonly #owners = new WeakMap<object, object>();
  /** Parts that requests may only read. */
  readonly #shared = new WeakSet<object>();
  readonly #givenOut: GivenOut[] = [];

  /** Failures since the last call; also checks whether objects from caches are unchanged. */
  take(): string[] {
    for (const { object, text } of this.#givenOut.splice(0)) {
      if (textOf(object) !== text) this.#problems.push(`changed in a cache: ${text.slice(0, 200)}`);
    }
    return this.#problems.splice(0);
  }

  /** A handler that distinguishes requests. */
  handler(handle: ApiHandler): ApiHandler {
    return (request) => this.#requests.run({}, () => handle(request));
  }

  /** A decoder whose objects can be changed; it remembers their original contents. */
  decoder(): Decode {
    return (json) => {
      const object = decodeJson(json);
      this.#givenOut.push({ object, text: textOf(object) });
      for (const part of partsOf(object)) this.#shared.add(part);
      return object;
    };
  }

  /** A strategy that writes wherever it may change an object. */
  strategy(strategy: Strategy): Strategy {
    const given = strategy as unknown as Readonly<Record<string, Call | undefined>>;
    const wrapped: Record<string, unknown> = { ...strategy };
    for (const name of looking) {
      const call = given[name];
      if (call !== undefined)
        wrapped[name] = (...all: unknown[]) => this.#look(name, all, () => call.apply(strategy, all));
    }
    for (const name of changing) {
      const call = given[name];
      // Parts that a status update restores are shared.
      if (call !== undefined) wrapped[name] = this.#around(name, call, { after: name !== 'prepareForStatusUpdate' });
    }
    const { canonicalize } = strategy;
    if (canonicalize !== undefined) {
      wrapped['canonicalize'] = (object: Parts, ...others: readonly unknown[]) => {
        // Members may be replaced; their old values may be shared.
        this.#look('canonicalize', Object.values(object), () => (canonicalize as Call)(object, ...others));
      };
    }
    if (strategy.partUpdates !== undefined) {
      const parts = Object.entries(strategy.partUpdates).map(([name, part]): [string, PartUpdate] => {
        const prepare = this.#around(name, part.prepare as Call, { after: true }) as PartUpdate['prepare'];
        return [
          name,
          { prepare, validate: (...all) => this.#look(`validate ${name}`, all, () => part.validate(...all)) },
        ];
      });
      wrapped['partUpdates'] = Object.fromEntries(parts);
    }
    return wrapped as unknown as Strategy;
  }

  /** Writes into the object before and after the plugin, and checks whether the plugin leaves the rest unchanged. */
  plugin(plugin: AdmissionPlugin): AdmissionPlugin {
    const { name, sideEffects } = plugin;
    return {
      name,
      ...(sideEffects !== undefined && { sideEffects }),
      ...(plugin.start && { start: (signal) => plugin.start?.(signal) }),
      handles: (attributes) => plugin.handles(attributes),
      ...(plugin.admit && {
        admit: async (attributes) => {
          const { object, oldObject } = attributes;
          this.#own(name, object);
          await this.#look(name, [oldObject], () => plugin.admit?.(attributes));
          this.#own(name, object);
        },
      }),
      ...(plugin.validate && {
        validate: (attributes) =>
          this.#look(name, [attributes.object, attributes.oldObject], () => plugin.validate?.(attributes)),
      }),
    };
  }

  /** Spoils objects of dry runs, and writes into all others. */
  get spoilingPlugin(): AdmissionPlugin {
    return {
      name: 'Spoiling',
      handles: () => true,
      admit: ({ object, dryRun, operation }) => {
        if (operation === 'DELETE' || operation === 'CONNECT') return;
        this.#own('Spoiling', object);
        if (dryRun) spoil(object);
      },
    };
  }

  hook(hook: WriteHook): WriteHook {
    const { beforeCreate, beforeUpdate, afterUpdate, afterDelete } = hook;
    return {
      ...(hook.resources && { resources: hook.resources }),
      ...(beforeCreate && {
        beforeCreate: async (object, options) => {
          this.#own('beforeCreate', object);
          const undo = await beforeCreate.call(hook, object, options);
          this.#own('beforeCreate', object);
          return undo;
        },
      }),
      ...(beforeUpdate && {
        beforeUpdate: async (object, old, options) => {
          this.#own('beforeUpdate', object);
          const undo = await this.#look('beforeUpdate', [old], () => beforeUpdate.call(hook, object, old, options));
          this.#own('beforeUpdate', object);
          return undo;
        },
      }),
      ...(afterUpdate && {
        afterUpdate: (object, old) =>
          this.#look('afterUpdate', [object, old], () => afterUpdate.call(hook, object, old)),
      }),
      ...(afterDelete && {
        afterDelete: (object) => this.#look('afterDelete', [object], () => afterDelete.call(hook, object)),
      }),
    };
  }

  /** For every kind; spoils objects of dry runs. */
  get spoilingHook(): WriteHook {
    const spoilt = async (object: object, { dryRun }: { readonly dryRun: boolean }) => {
      this.#own('a hook', object);
      if (dryRun) spoil(object);
      return undefined;
    };
    return {
      beforeCreate: spoilt,
      beforeUpdate: (object, _old, options) => spoilt(object, options),
    };
  }

  #around(name: string, call: Call, { after }: { readonly after: boolean }): Call {
    return (object, ...others) => {
      this.#own(name, object);
      this.#look(name, others, () => call(object, ...others));
      if (after) this.#own(name, object);
    };
  }

  /** Writes into the object, which must share no part with another request. */
  #own(who: string, object: unknown): void {
    const request = this.#requests.getStore();
    for (const part of partsOf(object)) {
      if (this.#shared.has(part))
        this.#problems.push(`${who} may change what is shared: ${textOf(part).slice(0, 200)}`);
      const owner = this.#owners.get(part);
      if (owner !== undefined && request !== undefined && owner !== request)
        this.#problems.push(`${who} may change what another request has: ${textOf(part).slice(0, 200)}`);
      if (request !== undefined) this.#owners.set(part, request);
    }
    try {
      scribble(object);
    } catch (error) {
      this.#problems.push(`${who} cannot write into its object: ${String(error)}`);
      throw error;
    }
  }

  /** Runs a function that must only read its arguments. */
  #look<R>(who: string, given: readonly unknown[], run: () => R): R {
    const objects = given.filter(isObject);
    const texts = objects.map(textOf);
    const check = () => {
      for (const [i, object] of objects.entries()) {
        if (textOf(object) !== texts[i])
          this.#problems.push(`${who} changes what it looks at: ${texts[i]?.slice(0, 200)}`);
      }
    };
    const result = run();
    if (!(result instanceof Promise)) {
      check();
      return result;
    }
    return result.finally(check) as R;
  }
}
