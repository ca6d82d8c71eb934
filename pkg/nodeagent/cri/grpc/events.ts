/**
 * containerd's own event stream, on the same socket as its CRI: tells of exits at once, so that nothing needs to list
 * each second. Runtimes without it answer UNIMPLEMENTED, and the subscriber lists instead.
 */
import protobuf from 'protobufjs';
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { RuntimeEventHandler } from '#nodeagent/cri/cri.js';
import type { GrpcChannel } from '#nodeagent/cri/grpc/channel.js';

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
                    /** Every task event names its container in field 1. */
                    TaskEvent: { fields: { containerId: { type: 'string', id: 1 } } },
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
const filters = ['/tasks/exit', '/tasks/start', '/tasks/oom', '/tasks/delete'].map(
  (topic) => `namespace==${criNamespace},topic=="${topic}"`,
);
const reconnectMs = 1000;
/** The server's first answer comes with its first event; a stream that has not failed by then is open. */
const openMs = 250;

/** Empty for what is no such event: it is found out when the runtime is listed next. */
function containerOf(taskEvent: protobuf.Type, value: Uint8Array): string {
  try {
    return (taskEvent.decode(value) as unknown as { containerId: string }).containerId;
  } catch {
    return '';
  }
}

/** Subscribes until the returned function is called, reconnecting when the stream breaks. */
export function subscribeContainerd(channel: GrpcChannel, clock: Clock, handler: RuntimeEventHandler): () => void {
  const taskEvent = protobuf.Root.fromJSON(containerdEventsDescriptor).lookupType(
    'containerd.services.events.v1.TaskEvent',
  );
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
          const value = (envelope['event'] as { value?: Uint8Array } | null)?.value;
          if (value === undefined) return;
          const id = containerOf(taskEvent, value);
          if (id !== '') handler.onEvent({ id });
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
