/**
 * Events of watches as bytes: how one is encoded, and the newest ones, which all watches of a server share. An event is
 * given in parts, so that its object's bytes are copied once, into what all watchers are sent.
 */
import type { Encoding } from '#apimachinery/codec/negotiate.js';
import type { Status } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { Transform } from '#apiserver/http/content-negotiation.js';
import { partialJson, partialOf, viewName } from '#apiserver/representation/partial-metadata.js';
import { protobufItems, protobufMessageOf } from '#apiserver/representation/protobuf-message.js';
import { type IncludeObject, rowJson, tableHead } from '#apiserver/representation/table.js';
import type { Codec } from '#apiserver/resources/codec.js';
import { jsonOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import { type StrategyEnvironment, strategyContext } from '#apiserver/resources/strategy-context.js';
import type { Entry, ResourceEvent } from '#storage/resource-storage.js';

export interface FrameEncoder {
  /** Names the bytes of events: encoders of the same form make the same. Absent where a frame depends on those before. */
  readonly form?: string;
  event(event: ResourceEvent): readonly Buffer[];
  /** The event that ends a watch which cannot go on. */
  error(status: Status): readonly Buffer[];
}

/** Whose frames they are. */
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

/** The object of a bookmark, in the form of the other events: its kind and version, and what every object of it has. */
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

/** Chosen once for a watch: the events of most resources are served as they are stored. */
function jsonReader(resource: ServedResource, transform: Transform | undefined): (entry: Entry) => Buffer {
  if (transform !== undefined) return (entry) => partialJson(resource, entry, transform);
  return resource.conversion === undefined ? (entry) => entry.json() : (entry) => jsonOf(resource, entry);
}

/** One JSON document per line; with `transform` the objects are reduced to their metadata. */
export function jsonFrames(
  server: FrameSource,
  resource: ServedResource,
  transform: Transform | undefined,
): FrameEncoder {
  const bytes = jsonReader(resource, transform);
  return {
    form: `json ${formOf(resource, transform)}`,
    event(event) {
      if (event.type !== 'BOOKMARK') return [heads[event.type], bytes(event.entry), lineEnd];
      const object = bookmarkObject(server, resource, event, transform);
      return [heads.BOOKMARK, Buffer.from(toJSONText(server.codec.shown(object))), lineEnd];
    },
    error: jsonError,
  };
}

/** Each object as a Table of one row; the columns are described in the first event only. */
export function tableFrames(
  server: FrameSource,
  resource: ServedResource,
  transform: Transform,
  include: IncludeObject,
): FrameEncoder {
  let headers = true;
  return {
    event(event) {
      const table = tableHead(resource, transform, { resourceVersion: String(event.revision) }, headers);
      headers = false;
      const row =
        event.type === 'BOOKMARK'
          ? []
          : [rowJson(resource, event.entry, { transform, include, context: strategyContext(server) })];
      return [heads[event.type], Buffer.from(table), ...row, tableEnd];
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

/** Events in a row as the bytes of one form. */
export interface Run {
  readonly bytes: Buffer;
  /** Of each event. */
  readonly sizes: readonly number[];
}

interface Asked extends Run {
  readonly batch: readonly ResourceEvent[];
  readonly at: number;
  readonly form: string;
}

/** Memory of frames, of all forms together. */
const keptBytes = 2 * 1024 * 1024;
/** The first block of a form, and the largest of more than one frame. */
const firstBlockBytes = 4 * 1024;
const mostBlockBytes = 64 * 1024;

class Block {
  readonly form: string;
  readonly bytes: Buffer;
  readonly #events: ResourceEvent[] = [];
  /** Where each begins, and the last ends. */
  readonly #starts: number[] = [0];
  readonly #sizes: number[] = [];
  /** By the event: the last place where it is. */
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

  /** How many events from that place on are those of the batch from the one `at`. */
  matching(place: number, batch: readonly ResourceEvent[], at: number): number {
    const most = Math.min(this.#events.length - place, batch.length - at);
    let count = 0;
    while (count < most && this.#events[place + count] === batch[at + count]) count++;
    return count;
  }

  /** Whether what is added comes right behind so many events from that place on. */
  endsWith(place: number, count: number): boolean {
    return place + count === this.#events.length;
  }

  /** For what there is `room`. */
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
 * Encoders, and the newest frames. A change goes to all watchers of a form as the same bytes. Frames of a form stand
 * one behind the other in blocks, in the order in which they were asked for first: several changes that wait for a
 * watcher are one piece of a block, wherever it has come to. So a watcher that is behind costs no more than others, but
 * for the sending.
 */
export class RecentFrames {
  readonly #encoders = new WeakMap<ServedResource, Map<Encoding, FrameEncoder>>();
  /** The newest last. */
  readonly #blocks: Block[] = [];
  #bytes = 0;
  /**
   * What was asked for last, and before that: those who wait for the same come one after the other, and where it crosses the
   * end of a block they ask for two pieces by turns.
   */
  #last: Asked | undefined;
  #before: Asked | undefined;

  /** The one encoder of a resource's whole objects in that format: it knows nothing of the watch. */
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

  /** As many of these very events, from the one `at`, as are in one piece in that form: at least one. */
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
    const wanted = batch.length - at;
    const newest = this.#blocks.findLast((block) => block.form === form);
    const found = this.#find(batch[at] as ResourceEvent, form);
    if (found !== undefined) {
      const { block, place } = found;
      const count = block.matching(place, batch, at);
      if (count === wanted) return block.run(place, count);
      if (block.endsWith(place, count)) {
        // More is put behind them, or stands at the beginning of another block.
        const added = block === newest ? this.#append(block, batch, at + count, encoder) : 0;
        return block.run(place, count + added);
      }
    }
    return this.#anew(batch, at, form, { encoder, newest });
  }

  #find(event: ResourceEvent, form: string): { readonly block: Block; readonly place: number } | undefined {
    for (let i = this.#blocks.length - 1; i >= 0; i--) {
      const block = this.#blocks[i] as Block;
      const place = block.form === form ? block.place(event) : undefined;
      if (place !== undefined) return { block, place };
    }
    return undefined;
  }

  /** Adds the events from the one `at` on, as far as there is room; returns how many. */
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

  /** Puts them behind all others of the form. */
  #anew(
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
      const size = block === undefined ? firstBlockBytes : Math.min(mostBlockBytes, 4 * block.bytes.length);
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
    while (this.#bytes > keptBytes && this.#blocks.length > 1) {
      this.#bytes -= (this.#blocks.shift() as Block).bytes.length;
    }
    return block;
  }
}

function lengthOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
