/**
 * Events of a watch as bytes. An event is given in parts, so that the object's own bytes are shared by all watchers and
 * copied once, into what is written.
 */
import type { Status } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { Transform } from '#apiserver/http/media-type.js';
import { partialJson, partialOf, viewName } from '#apiserver/representation/partial.js';
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

/** One JSON document per line; with `transform` the objects are reduced to their metadata. */
export function jsonFrames(
  server: FrameSource,
  resource: ServedResource,
  transform: Transform | undefined,
): FrameEncoder {
  const bytes = (entry: Entry) =>
    transform === undefined ? jsonOf(resource, entry) : partialJson(resource, entry, transform);
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
