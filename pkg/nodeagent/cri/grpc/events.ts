/**
 * containerd's event stream, on the same socket as its CRI: reports exits at once, so that the agent need not list
 * every second. Runtimes without it answer UNIMPLEMENTED, and the subscriber lists instead.
 */
import protobuf from 'protobufjs';
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { RuntimeEvent, RuntimeEventHandler } from '#nodeagent/cri/cri.js';
import { isCRIError } from '#nodeagent/cri/errors.js';
import type { GrpcChannel, Message } from '#nodeagent/grpc/channel.js';

/** The used messages of `containerd.services.events.v1` and `containerd.events`. */
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
                    /** `id` equals `containerId` for the container's main process, else it names an exec. */
                    TaskExit: {
                      fields: { containerId: { type: 'string', id: 1 }, id: { type: 'string', id: 2 } },
                    },
                    /** `id` is empty, or names an exec. */
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

/** containerd's namespace of CRI objects. */
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
/** The server answers only with its first event, so a stream that has not failed by then counts as open. */
const openMs = 250;

const messages = protobuf.Root.fromJSON(containerdEventsDescriptor);

/** The container event in an envelope; undefined for other events and for execs, such as exec probes. */
export function eventOf(envelope: Message): RuntimeEvent | undefined {
  const topic = topics[String(envelope['topic'])];
  const value = (envelope['event'] as { value?: Uint8Array } | null)?.value;
  if (topic === undefined || value === undefined) return undefined;
  const { containerId, id = '' } = decoded(topic.message, value);
  if (containerId === undefined || containerId === '' || (id !== '' && id !== containerId)) return undefined;
  return { id: containerId, ...(topic.became === undefined ? {} : { became: topic.became }) };
}

/** Empty for an undecodable event: the next listing finds its change. */
function decoded(message: string, value: Uint8Array): { containerId?: string; id?: string } {
  try {
    return messages.lookupType(`containerd.services.events.v1.${message}`).decode(value) as { containerId?: string };
  } catch {
    return {};
  }
}

/** Subscribes until the returned function is called; reconnects after failures. */
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
          // The runtime has no such service; its subscriber keeps listing.
          if (closed || isCRIError(error, 'Unimplemented')) return;
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
