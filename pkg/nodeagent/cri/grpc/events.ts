/**
 * containerd's own event stream, on the same socket as its CRI: tells of exits at once, so that nothing needs to list
 * each second. Runtimes without it answer UNIMPLEMENTED, and the subscriber lists instead.
 */
import protobuf from 'protobufjs';
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { RuntimeEvent, RuntimeEventHandler } from '#nodeagent/cri/cri.js';
import type { GrpcChannel, Message } from '#nodeagent/cri/grpc/channel.js';

/** The few messages of `containerd.services.events.v1` and `containerd.events` that are read. */
export const containerdEventsDescriptor: protobuf.INamespace = {
  nested: {
    containerd: {
      nested: {
        services: {
          nested: {
            events: {
              nested: {
                v1: {
                  nested: {
                    Events: {
                      methods: {
                        Subscribe: {
                          requestType: 'SubscribeRequest',
                          responseType: 'Envelope',
                          responseStream: true,
                        },
                      },
                    },
                    SubscribeRequest: { fields: { filters: { rule: 'repeated', type: 'string', id: 1 } } },
                    Any: { fields: { typeUrl: { type: 'string', id: 1 }, value: { type: 'bytes', id: 2 } } },
                    Envelope: {
                      fields: {
                        namespace: { type: 'string', id: 2 },
                        topic: { type: 'string', id: 3 },
                        event: { type: 'Any', id: 4 },
                      },
                    },
                    TaskStart: { fields: { containerId: { type: 'string', id: 1 } } },
                    TaskOOM: { fields: { containerId: { type: 'string', id: 1 } } },
                    /** `id` is the container's where its first process ended, else that of a command in it. */
                    TaskExit: {
                      fields: { containerId: { type: 'string', id: 1 }, id: { type: 'string', id: 2 } },
                    },
                    /** `id` is empty, or that of a command in the container. */
                    TaskDelete: {
                      fields: { containerId: { type: 'string', id: 1 }, id: { type: 'string', id: 5 } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
  },
};

/** containerd's namespace of everything that the CRI manages. */
const criNamespace = 'k8s.io';

interface Topic {
  readonly message: string;
  readonly became?: RuntimeEvent['became'];
}

const topics: Readonly<Record<string, Topic>> = {
  '/tasks/exit': { message: 'TaskExit', became: 'stopped' },
  '/tasks/start': { message: 'TaskStart', became: 'running' },
  '/tasks/oom': { message: 'TaskOOM' },
  '/tasks/delete': { message: 'TaskDelete', became: 'stopped' },
};
const filters = Object.keys(topics).map((topic) => `namespace==${criNamespace},topic=="${topic}"`);
const reconnectMs = 1000;
/** The server's first answer comes with its first event; a stream that has not failed by then is open. */
const openMs = 250;

const messages = protobuf.Root.fromJSON(containerdEventsDescriptor);

/**
 * What an envelope of containerd's event service tells of a container; undefined where that is nothing: it is no such
 * event, or it is about a command in a container, as every exec probe is one.
 */
export function eventOf(envelope: Message): RuntimeEvent | undefined {
  const topic = topics[String(envelope['topic'])];
  const value = (envelope['event'] as { value?: Uint8Array } | null)?.value;
  if (topic === undefined || value === undefined) return undefined;
  const { containerId, id = '' } = decoded(topic.message, value);
  if (containerId === undefined || containerId === '' || (id !== '' && id !== containerId)) return undefined;
  return { id: containerId, ...(topic.became === undefined ? {} : { became: topic.became }) };
}

/** Empty for what cannot be read: what it would have told is found out when the runtime is listed next. */
function decoded(message: string, value: Uint8Array): { containerId?: string; id?: string } {
  try {
    return messages.lookupType(`containerd.services.events.v1.${message}`).decode(value) as { containerId?: string };
  } catch {
    return {};
  }
}

/** Subscribes until the returned function is called, reconnecting when the stream breaks. */
export function subscribeContainerd(channel: GrpcChannel, clock: Clock, handler: RuntimeEventHandler): () => void {
  let closed = false;
  let cancel: (() => void) | undefined;
  let timer: Timer | undefined;

  const connect = () => {
    if (closed) return;
    timer = clock.setTimer(() => handler.onConnected(true), openMs);
    cancel = channel.stream(
      'containerd.services.events.v1.Events/Subscribe',
      { filters },
      {
        onMessage: (envelope) => {
          const event = eventOf(envelope);
          if (event !== undefined) handler.onEvent(event);
        },
        onEnd: (error) => {
          timer?.cancel();
          handler.onConnected(false);
          // A runtime that has no such service never will; its subscriber goes on listing.
          if (closed || error?.code === 'Unimplemented') return;
          timer = clock.setTimer(connect, reconnectMs);
        },
      },
    );
  };
  connect();
  return () => {
    closed = true;
    timer?.cancel();
    cancel?.();
  };
}
