/**
 * gRPC checks of a pod's ports, with the outputs of release 1.24 (probe/grpc). On bare HTTP/2, with a connection for each: a
 * gRPC client with its resolver, balancer and retries costs twice as much, and a node may have hundreds of such probes.
 */
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import { isIPv6 } from 'node:net';
import protobuf from 'protobufjs/minimal.js';
import { formatDuration } from '#apimachinery/duration.js';
import { type CheckResult, failure } from '#nodeagent/probes/check-result.js';

export interface GRPCCheck {
  readonly host: string;
  readonly port: number;
  /** Empty: the server as a whole. */
  readonly service: string;
  /** Of all of it. */
  readonly timeoutMs: number;
}

/** By number, as release 1.24 spells them. */
const codes =
  `OK Canceled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied ResourceExhausted
   FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable DataLoss Unauthenticated`.split(/\s+/);
const statuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];
/** Of the answer, what is read: five bytes before the message, which has one small field. */
const maxAnswerBytes = 64;

const noBytes = Buffer.alloc(0);

/** After a connection that failed, as gRPC clients do at first. */
const reconnectMs = 1000;

/** `grpc.health.v1.Health/Check` answers SERVING. Never rejects. @param agent Of the User-Agent header. */
export function checkGRPC(check: GRPCCheck, agent: string): Promise<CheckResult> {
  const { host, port, timeoutMs } = check;
  const address = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const within = formatDuration(timeoutMs);
  return new Promise((resolve) => {
    let attempt: Attempt | undefined;
    let again: NodeJS.Timeout | undefined;
    const end = (result: CheckResult) => {
      clearTimeout(timer);
      clearTimeout(again);
      attempt?.end();
      resolve(result);
    };
    const timer = setTimeout(() => {
      const late =
        attempt?.isConnected === true
          ? `timeout: health rpc did not complete within ${within}`
          : `timeout: failed to connect service "${address}" within ${within}: context deadline exceeded`;
      end(failure(late));
    }, timeoutMs);
    const begin = () => {
      attempt = new Attempt(`http://${address}`, check.service, agent, (result) => {
        // There is time for a server that is only starting.
        if (result === undefined) again = setTimeout(begin, reconnectMs);
        else end(result);
      });
    };
    begin();
  });
}

/** One connection and one call. */
class Attempt {
  /** The other side has shown that it speaks HTTP/2. */
  isConnected = false;
  readonly #session: ClientHttp2Session;
  #over = false;

  /** `over` is called once, unless it is ended before: with the result, or undefined where there is no connection. */
  constructor(url: string, service: string, agent: string, over: (result: CheckResult | undefined) => void) {
    const done = (result: CheckResult) => {
      if (this.#over) return;
      this.end();
      over(this.isConnected ? result : undefined);
    };
    // A call that waits for its connection is told of its end first.
    const broken = ({ message, cause }: Error) =>
      done(failure(rpcError('Unavailable', cause instanceof Error ? cause.message : message)));
    this.#session = connect(url, { settings: { enablePush: false } });
    this.#session.once('remoteSettings', () => {
      this.isConnected = true;
    });
    this.#session.on('error', broken);
    const call = this.#session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      'user-agent': agent,
      te: 'trailers',
    });
    let answer = Buffer.alloc(0);
    let headers: IncomingHttpHeaders = {};
    call.on('response', (first) => {
      headers = first;
    });
    // Its last word on what became of the call.
    call.on('trailers', (last) => {
      headers = { ...headers, ...last };
    });
    call.on('data', (part: Buffer) => {
      if (answer.length < maxAnswerBytes) answer = Buffer.concat([answer, part]).subarray(0, maxAnswerBytes);
    });
    call.on('error', broken);
    call.on('close', () => done(resultOf(headers, answer)));
    call.end(requestFor(service));
  }

  end(): void {
    this.#over = true;
    this.#session.destroy();
  }
}

/** A message with one text, field 1: its length in four bytes after one that says that it is not compressed. */
function requestFor(service: string): Buffer {
  const message = service === '' ? noBytes : protobuf.Writer.create().uint32(0x0a).string(service).finish();
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function resultOf(headers: IncomingHttpHeaders, answer: Buffer): CheckResult {
  const http = Number(headers[':status'] ?? 0);
  if (http === 0) return failure(rpcError('Unavailable', 'the connection ended without an answer'));
  const code = headers['grpc-status'];
  if (code === undefined && http !== 200) {
    return failure(rpcError('Unknown', `unexpected HTTP status code received from server: ${http}`));
  }
  if (code !== '0') {
    const name = codes[Number(code ?? 2)] ?? `Code(${code})`;
    const text = decoded(String(headers['grpc-message'] ?? ''));
    return failure(name === 'Unimplemented' ? `${unimplemented}: ${text}` : rpcError(name, text));
  }
  // Field 1, an enum; the message is empty where its status is the first.
  const status = answer[5] === 0x08 ? (answer[6] ?? 0) : 0;
  if (status === 1) return { success: true, output: 'service healthy' };
  return failure(`service unhealthy (responded with "${statuses[status] ?? status}")`);
}

const unimplemented = 'error: this server does not implement the grpc health protocol (grpc.health.v1.Health)';

function rpcError(code: string, text: string): string {
  return `error: health rpc probe failed: rpc error: code = ${code} desc = ${text}`;
}

/** `grpc-message` is percent-encoded; what is not, is as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
