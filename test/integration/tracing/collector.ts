/** A span collector for tests: the part of OTLP over gRPC that daemons use. */
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import protobuf from 'protobufjs';

const proto = `
syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  repeated KeyValue attributes = 9; Status status = 15;
}
message Status { int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; int64 int_value = 3; double double_value = 4; } }
`;

type Attributes = readonly { key: string; value: { stringValue?: string; intValue?: number } }[];

interface Request {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: Attributes };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: Uint8Array;
        readonly spanId: Uint8Array;
        readonly parentSpanId?: Uint8Array;
        readonly name: string;
        readonly kind: number;
        readonly attributes?: Attributes;
        readonly status?: { readonly code?: number };
      }[];
    }[];
  }[];
}

export interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  /** 2: server span, 3: client span. */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root span of a trace. */
  readonly parentId: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly failed: boolean;
}

export interface Collector {
  /** `host:port` */
  readonly endpoint: string;
  readonly spans: readonly CollectedSpan[];
  /** Received calls, answered or not. */
  calls: number;
  close(): void;
}

/** @param silent Accepts calls and never answers. */
export async function startCollector({ silent = false } = {}): Promise<Collector> {
  const { root } = protobuf.parse(proto, { keepCase: false });
  const type = root.lookupType('Request');
  const spans: CollectedSpan[] = [];
  const server = new Server();
  const collector = { spans, calls: 0, endpoint: '', close: () => server.forceShutdown() };
  const definition = {
    Export: {
      path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
      requestStream: false,
      responseStream: false,
      requestSerialize: (bytes: Buffer) => bytes,
      requestDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes,
    },
  };
  server.addService(definition, {
    Export(call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) {
      collector.calls++;
      if (silent) return;
      spans.push(...spansOf(type.toObject(type.decode(call.request), { longs: Number }) as Request));
      answer(null, Buffer.alloc(0));
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  collector.endpoint = `127.0.0.1:${port}`;
  return collector;
}

function spansOf({ resourceSpans = [] }: Request): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(recordOf(resource.attributes)['service.name']);
    return scopeSpans.flatMap((scope) =>
      scope.spans.map(({ traceId, spanId, parentSpanId = new Uint8Array(), name, kind, attributes = [], status }) => ({
        ...{ service, name, kind },
        traceId: hex(traceId),
        spanId: hex(spanId),
        parentId: hex(parentSpanId),
        attributes: recordOf(attributes),
        failed: status?.code === 2,
      })),
    );
  });
}

function recordOf(attributes: Attributes): Record<string, string | number> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']));
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
