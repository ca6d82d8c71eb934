/**
 * Encodes events of watches, and caches the newest ones for all watches of a server. An event consists of parts, so that its
 * object's bytes are copied once, into the buffer for all watchers.
 */
import { allSteps, type Steps } from '#apimachinery/async/steps.js';
import type { Encoding } from '#apimachinery/codec/negotiate.js';
import type { Status } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { Transform } from '#apiserver/http/content-negotiation.js';
import { partialJson, partialOf, viewName } from '#apiserver/representation/partial-metadata.js';
import { protobufItems, protobufMessageOf } from '#apiserver/representation/protobuf-items.js';
import { type IncludeObject, rowSteps, tableHead } from '#apiserver/representation/table.js';
import type { Codec } from '#apiserver/resources/codec.js';
import type { LargeView } from '#apiserver/resources/large-views.js';
import { entryKeepsJson, jsonOf, jsonSteps, type ServedResource } from '#apiserver/resources/served-resource.js';
import { type StrategyEnvironment, strategyContext } from '#apiserver/resources/strategy-context.js';
import type { Entry, ResourceEvent } from '#storage/resource-storage.js';

export interface FrameEncoder {
  /** Names the encoding: encoders of one form produce equal bytes. Absent if a frame depends on earlier ones. */
  readonly form?: string;
  event(event: ResourceEvent): readonly Buffer[];
  /**
   * Prepares the entry of an event in steps, if that takes longer than copying bytes. The caller must hold the result until it
   * has called `event`. Absent: nothing takes long.
   */
  prepare?(entry: Entry): Steps<LargeView | undefined>;
  /** True if `prepare` has nothing to do. */
  isReady?(entry: Entry): boolean;
  /** The event that ends a watch after a failure. */
  error(status: Status): readonly Buffer[];
}

/** Dependencies of encoders. */
export interface FrameSource extends StrategyEnvironment {
  readonly codec: Codec;
}

type Bookmark = Extract<ResourceEvent, { type: 'BOOKMARK' }>;

const lineEnd = Buffer.from('}\n');
const tableEnd = Buffer.from(']}}\n');

function head(type: string): Buffer {
  return Buffer.from(`{"type":"${type}","object":`);
}

const heads = {
  ADDED: head('ADDED'),
  MODIFIED: head('MODIFIED'),
  DELETED: head('DELETED'),
  BOOKMARK: head('BOOKMARK'),
};

function jsonError(status: Status): readonly Buffer[] {
  return [head('ERROR'), Buffer.from(JSON.stringify(status)), lineEnd];
}

/** The object of a bookmark in the form of the other events, with the members that every object of its kind has. */
function bookmarkObject(
  server: FrameSource,
  resource: ServedResource,
  event: Bookmark,
  transform: Transform | undefined,
): object {
  const annotations =
    event.initialEventsEnd === true ? { annotations: { [server.dialect.bookmarkAnnotation]: 'true' } } : {};
  const object = {
    kind: resource.declaration.kind,
    apiVersion: resource.apiVersion,
    metadata: { resourceVersion: String(event.revision), ...annotations },
  };
  if (transform !== undefined) return partialOf(object, transform);
  server.codec.complete(object);
  return object;
}

function formOf(resource: ServedResource, transform: Transform | undefined): string {
  return transform === undefined
    ? `${resource.apiVersion}${resource.edition ?? ''}`
    : `partial ${viewName(resource, transform)}`;
}

/** Chooses the reader once per watch: most resources serve events as they are stored. */
function jsonReader(resource: ServedResource, transform: Transform | undefined): (entry: Entry) => Buffer {
  if (transform !== undefined) return (entry) => partialJson(resource, entry, transform);
  return resource.conversion === undefined ? (entry) => entry.json() : (entry) => jsonOf(resource, entry);
}

/** One JSON document per line; with `transform`, objects are reduced to their metadata. */
export function jsonFrames(
  server: FrameSource,
  resource: ServedResource,
  transform: Transform | undefined,
): FrameEncoder {
  const bytes = jsonReader(resource, transform);
  const converts = transform === undefined && resource.conversion?.kind === 'in process';
  return {
    form: `json ${formOf(resource, transform)}`,
    ...(converts && {
      prepare: (entry: Entry) => jsonSteps(resource, entry),
      isReady: (entry: Entry) => entryKeepsJson(resource, entry),
    }),
    event(event) {
      if (event.type !== 'BOOKMARK') return [heads[event.type], bytes(event.entry), lineEnd];
      const object = bookmarkObject(server, resource, event, transform);
      return [heads.BOOKMARK, Buffer.from(toJSONText(server.codec.shown(object))), lineEnd];
    },
    error: jsonError,
  };
}

/** Each object as a Table of one row; only the first event describes the columns. */
export function tableFrames(
  server: FrameSource,
  resource: ServedResource,
  transform: Transform,
  include: IncludeObject,
): FrameEncoder {
  let headers = true;
  const options = { transform, include, context: strategyContext(server) };
  const rows = new Map<Entry, Buffer>();
  return {
    *prepare(entry) {
      rows.set(entry, yield* rowSteps(resource, entry, options));
      return undefined;
    },
    event(event) {
      const table = tableHead(resource, transform, { resourceVersion: String(event.revision) }, headers);
      headers = false;
      if (event.type === 'BOOKMARK') return [heads[event.type], Buffer.from(table), tableEnd];
      const row = rows.get(event.entry) ?? allSteps(rowSteps(resource, event.entry, options));
      rows.delete(event.entry);
      return [heads[event.type], Buffer.from(table), row, tableEnd];
    },
    error: jsonError,
  };
}

/** Frames of a Protobuf watch: four bytes of length, then the event. */
export function protobufFrames(
  server: FrameSource,
  resource: ServedResource,
  transform: Transform | undefined,
): FrameEncoder {
  const { codec } = server;
  const type =
    transform === undefined
      ? { apiVersion: resource.apiVersion, kind: resource.declaration.kind }
      : { apiVersion: `${transform.group}/${transform.version}`, kind: 'PartialObjectMetadata' };
  const items = protobufItems(codec, resource, transform);
  return {
    form: `protobuf ${formOf(resource, transform)}`,
    event(event) {
      if (event.type === 'BOOKMARK')
        return [codec.protobufEvent('BOOKMARK', bookmarkObject(server, resource, event, transform))];
      return codec.protobufEventParts(event.type, type, protobufMessageOf(items, event.entry));
    },
    error: (status) => [codec.protobufEvent('ERROR', status)],
  };
}

/** Consecutive events as bytes of one form. */
export interface Run {
  readonly bytes: Buffer;
  /** Size of each event. */
  readonly sizes: readonly number[];
}

interface RecentRun extends Run {
  readonly batch: readonly ResourceEvent[];
  readonly at: number;
  readonly form: string;
}

/** Limit of memory for frames of all forms. */
const maxBytes = 2 * 1024 * 1024;
/** Size of a form's first block, and limit of a block with several frames. */
const firstBlockBytes = 4 * 1024;
const maxBlockBytes = 64 * 1024;

class Block {
  readonly form: string;
  readonly bytes: Buffer;
  readonly #events: ResourceEvent[] = [];
  /** Start offset of each event, and the end of the last one. */
  readonly #starts: number[] = [0];
  readonly #sizes: number[] = [];
  /** The last place of each event. */
  readonly #places = new Map<ResourceEvent, number>();

  constructor(form: string, size: number) {
    this.form = form;
    this.bytes = Buffer.allocUnsafeSlow(size);
  }

  get #end(): number {
    return this.#starts[this.#events.length] as number;
  }

  get room(): number {
    return this.bytes.length - this.#end;
  }

  place(event: ResourceEvent): number | undefined {
    return this.#places.get(event);
  }

  /** Counts the events from `place` on that equal those of the batch from `at` on. */
  matching(place: number, batch: readonly ResourceEvent[], at: number): number {
    const most = Math.min(this.#events.length - place, batch.length - at);
    let count = 0;
    while (count < most && this.#events[place + count] === batch[at + count]) count++;
    return count;
  }

  /** True if the block ends after `count` events from `place` on. */
  endsWith(place: number, count: number): boolean {
    return place + count === this.#events.length;
  }

  /** Call `room` first: the event must fit. */
  add(event: ResourceEvent, parts: readonly Buffer[]): void {
    const start = this.#end;
    let at = start;
    for (const part of parts) {
      this.bytes.set(part, at);
      at += part.length;
    }
    this.#sizes.push(at - start);
    this.#places.set(event, this.#events.length);
    this.#events.push(event);
    this.#starts.push(at);
  }

  run(place: number, count: number): Run {
    const end = place + count;
    return {
      bytes: this.bytes.subarray(this.#starts[place], this.#starts[end]),
      sizes: this.#sizes.slice(place, end),
    };
  }
}

/**
 * Encoders and the newest frames. All watchers of a form receive the same bytes for a change. Frames of a form are stored in
 * blocks, in the order of their first use, so a watcher's pending changes are always one piece of a block. A slow watcher
 * therefore costs no more than a fast one, except for sending.
 */
export class RecentFrames {
  readonly #encoders = new WeakMap<ServedResource, Map<Encoding, FrameEncoder>>();
  /** Blocks, newest last. */
  readonly #blocks: Block[] = [];
  #bytes = 0;
  /**
   * The last two requests: watchers that need the same frames come one after the other, and at the end of a block they
   * alternate between two pieces.
   */
  #last: RecentRun | undefined;
  #before: RecentRun | undefined;

  /** The shared encoder of a resource's whole objects in that format; it does not depend on the watch. */
  encoder(resource: ServedResource, format: Encoding, make: () => FrameEncoder): FrameEncoder {
    let encoders = this.#encoders.get(resource);
    if (encoders === undefined) {
      encoders = new Map();
      this.#encoders.set(resource, encoders);
    }
    let encoder = encoders.get(format);
    if (encoder === undefined) {
      encoder = make();
      encoders.set(format, encoder);
    }
    return encoder;
  }

  /** Returns as many of these events from `at` on as one piece of that form contains: at least one. */
  run(batch: readonly ResourceEvent[], at: number, form: string, encoder: FrameEncoder): Run {
    const last = this.#last;
    if (last !== undefined && last.batch === batch && last.at === at && last.form === form) return last;
    const before = this.#before;
    this.#before = last;
    if (before !== undefined && before.batch === batch && before.at === at && before.form === form) this.#last = before;
    else {
      const { bytes, sizes } = this.#piece(batch, at, form, encoder);
      this.#last = { bytes, sizes, batch, at, form };
    }
    return this.#last;
  }

  #piece(batch: readonly ResourceEvent[], at: number, form: string, encoder: FrameEncoder): Run {
    const remaining = batch.length - at;
    const newest = this.#blocks.findLast((block) => block.form === form);
    const match = this.#find(batch[at] as ResourceEvent, form);
    if (match !== undefined) {
      const { block, place } = match;
      const count = block.matching(place, batch, at);
      if (count === remaining) return block.run(place, count);
      if (block.endsWith(place, count)) {
        // Append the remaining events, unless they begin another block.
        const added = block === newest ? this.#append(block, batch, at + count, encoder) : 0;
        return block.run(place, count + added);
      }
    }
    return this.#appendNew(batch, at, form, { encoder, newest });
  }

  #find(event: ResourceEvent, form: string): { readonly block: Block; readonly place: number } | undefined {
    for (let i = this.#blocks.length - 1; i >= 0; i--) {
      const block = this.#blocks[i] as Block;
      const place = block.form === form ? block.place(event) : undefined;
      if (place !== undefined) return { block, place };
    }
    return undefined;
  }

  /** Appends the events from `at` on as long as there is room; returns their number. */
  #append(block: Block, batch: readonly ResourceEvent[], at: number, encoder: FrameEncoder): number {
    let added = 0;
    for (; at + added < batch.length; added++) {
      const event = batch[at + added] as ResourceEvent;
      const parts = encoder.event(event);
      if (lengthOf(parts) > block.room) break;
      block.add(event, parts);
    }
    return added;
  }

  /** Appends a new block after all others of the form. */
  #appendNew(
    batch: readonly ResourceEvent[],
    at: number,
    form: string,
    { encoder, newest }: { readonly encoder: FrameEncoder; readonly newest: Block | undefined },
  ): Run {
    const event = batch[at] as ResourceEvent;
    const parts = encoder.event(event);
    const length = lengthOf(parts);
    let block = newest;
    if (block === undefined || block.room < length) {
      const size = block === undefined ? firstBlockBytes : Math.min(maxBlockBytes, 4 * block.bytes.length);
      block = this.#open(form, Math.max(length, size));
    }
    block.add(event, parts);
    const place = block.place(event) as number;
    return block.run(place, 1 + this.#append(block, batch, at + 1, encoder));
  }

  #open(form: string, size: number): Block {
    const block = new Block(form, size);
    this.#blocks.push(block);
    this.#bytes += size;
    while (this.#bytes > maxBytes && this.#blocks.length > 1) {
      this.#bytes -= (this.#blocks.shift() as Block).bytes.length;
    }
    return block;
  }
}

function lengthOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
