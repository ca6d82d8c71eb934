/** Events of a watch as bytes, each made once per entry where the form allows and shared by all watchers. */
import type { Status } from '#apimachinery/errors/status.js';
import type { Transform } from '#apiserver/http/media-type.js';
import { type RegistryContext, strategyContext } from '#apiserver/registry/registry-context.js';
import { jsonOf, objectOf, type ServedResource } from '#apiserver/registry/served-resource.js';
import { partialJson, partialOf } from '#apiserver/representation/partial.js';
import { type IncludeObject, rowJson, tableHead } from '#apiserver/representation/table.js';
import type { Entry, ResourceEvent } from '#storage/resource-storage.js';

export interface FrameEncoder {
  event(event: ResourceEvent): Buffer;
  /** The event that ends a watch which cannot go on. */
  error(status: Status): Buffer;
}

type Bookmark = Extract<ResourceEvent, { type: 'BOOKMARK' }>;

const lineEnd = Buffer.from('}\n');

function jsonLine(type: string, object: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object, lineEnd]);
}

function jsonError(status: Status): Buffer {
  return jsonLine('ERROR', Buffer.from(JSON.stringify(status)));
}

/** The object of a bookmark: nothing but its kind and version. */
function bookmarkObject(registry: RegistryContext, resource: ServedResource, event: Bookmark) {
  const annotations =
    event.initialEventsEnd === true ? { annotations: { [registry.dialect.bookmarkAnnotation]: 'true' } } : {};
  return {
    kind: resource.declaration.kind,
    apiVersion: resource.apiVersion,
    metadata: { resourceVersion: String(event.revision), ...annotations },
  };
}

/** One JSON document per line; with `transform` the objects are reduced to their metadata. */
export function jsonFrames(
  registry: RegistryContext,
  resource: ServedResource,
  transform: Transform | undefined,
): FrameEncoder {
  const form = transform === undefined ? resource.apiVersion : `partial:${transform.group}/${transform.version}`;
  const bytes = (entry: Entry) =>
    transform === undefined ? jsonOf(resource, entry) : partialJson(resource, entry, transform);
  return {
    event(event) {
      if (event.type !== 'BOOKMARK') {
        // The cache gives the same entry to every watcher, so the whole line is made once.
        return event.entry.encoded(`event:${form}:${event.type}`, (entry) => jsonLine(event.type, bytes(entry)));
      }
      const object = bookmarkObject(registry, resource, event);
      const shown = transform === undefined ? object : partialOf(object, transform);
      return jsonLine('BOOKMARK', Buffer.from(JSON.stringify(shown)));
    },
    error: jsonError,
  };
}

/** Each object as a Table of one row; the columns are described in the first event only. */
export function tableFrames(
  registry: RegistryContext,
  resource: ServedResource,
  transform: Transform,
  include: IncludeObject,
): FrameEncoder {
  let headers = true;
  const head = (resourceVersion: string) => {
    const text = tableHead(resource, transform, { resourceVersion }, headers);
    headers = false;
    return Buffer.from(text);
  };
  const tail = Buffer.from(']}');
  return {
    event(event) {
      const revision = String(event.revision);
      if (event.type === 'BOOKMARK') return jsonLine('BOOKMARK', Buffer.concat([head(revision), tail]));
      const row = rowJson(resource, event.entry, { transform, include, context: strategyContext(registry) });
      return jsonLine(event.type, Buffer.concat([head(revision), row, tail]));
    },
    error: jsonError,
  };
}

/** Frames of a Protobuf watch: four bytes of length, then the event. */
export function protobufFrames(registry: RegistryContext, resource: ServedResource): FrameEncoder {
  const { codec } = registry;
  return {
    event(event) {
      if (event.type === 'BOOKMARK') {
        return codec.protobufEvent('BOOKMARK', bookmarkObject(registry, resource, event));
      }
      return event.entry.encoded(`event:protobuf:${resource.apiVersion}:${event.type}`, (entry) =>
        codec.protobufEvent(event.type, objectOf(resource, entry)),
      );
    },
    error: (status) => codec.protobufEvent('ERROR', status),
  };
}
