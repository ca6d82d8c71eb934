/**
 * gRPC probes, with the outputs of release 1.24 (probe/grpc). Uses plain HTTP/2 with one connection per check: a gRPC
 * client with resolver, balancer and retries costs twice as much, and a node may have hundreds of such probes.
 */
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import { isIPv6 } from 'node:net';
import protobuf from 'protobufjs/minimal.js';
import { formatDuration } from '#apimachinery/duration.js';
import { type CheckResult, failure } from '#nodeagent/probes/check-result.js';

export interface GRPCCheck {
  readonly host: string;
  readonly port: number;
  /** Empty: the whole server. */
  readonly service: string;
  /** Limit of the whole check. */
  readonly timeoutMs: number;
}

/** By number, spelled as in release 1.24. */
const codes =
  `OK Canceled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied ResourceExhausted
   FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable DataLoss Unauthenticated`.split(/\s+/);
const statuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];
/** Bytes read of the response: a prefix of five bytes, and a message with one small field. */
const maxAnswerBytes = 64;

const noBytes = Buffer.alloc(0);

/** Delay after a failed connection, as in gRPC clients. */
const reconnectMs = 1000;

/** Succeeds if `grpc.health.v1.Health/Check` answers SERVING. Never rejects. `agent`: the User-Agent header. */
export function checkGRPC(check: GRPCCheck, agent: string): Promise<CheckResult> {
  const { host, port, timeoutMs } = check;
  const address = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const within = formatDuration(timeoutMs);
  return new Promise((resolve) => {
    let attempt: Attempt | undefined;
    let retryTimer: NodeJS.Timeout | undefined;
    const end = (result: CheckResult) => {
      clearTimeout(timer);
      clearTimeout(retryTimer);
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
        // The server may still be starting, so retry.
        if (result === undefined) retryTimer = setTimeout(begin, reconnectMs);
        else end(result);
      });
    };
    begin();
  });
}

/** One connection with one call. */
class Attempt {
  /** The server has answered with HTTP/2 settings. */
  isConnected = false;
  readonly #session: ClientHttp2Session;
  #isOver = false;

  /** Calls `over` once unless ended before: with the result, or with undefined if the connection failed. */
  constructor(url: string, service: string, agent: string, over: (result: CheckResult | undefined) => void) {
    const done = (result: CheckResult) => {
      if (this.#isOver) return;
      this.end();
      over(this.isConnected ? result : undefined);
    };
    // A call that waits for its connection gets the error before the session does.
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
    let response = Buffer.alloc(0);
    let headers: IncomingHttpHeaders = {};
    call.on('response', (first) => {
      headers = first;
    });
    // Trailers contain the final status.
    call.on('trailers', (last) => {
      headers = { ...headers, ...last };
    });
    call.on('data', (part: Buffer) => {
      if (response.length < maxAnswerBytes) response = Buffer.concat([response, part]).subarray(0, maxAnswerBytes);
    });
    call.on('error', broken);
    call.on('close', () => done(resultOf(headers, response)));
    call.end(encodeRequest(service));
  }

  end(): void {
    this.#isOver = true;
    this.#session.destroy();
  }
}

/** A message with one string, field 1, after a prefix: one byte for no compression, and four bytes of length. */
function encodeRequest(service: string): Buffer {
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
    const text = decodeMessage(String(headers['grpc-message'] ?? ''));
    return failure(name === 'Unimplemented' ? `${unimplemented}: ${text}` : rpcError(name, text));
  }
  // Field 1, an enum; the message is empty for its first value.
  const status = answer[5] === 0x08 ? (answer[6] ?? 0) : 0;
  if (status === 1) return { success: true, output: 'service healthy' };
  return failure(`service unhealthy (responded with "${statuses[status] ?? status}")`);
}

const unimplemented = 'error: this server does not implement the grpc health protocol (grpc.health.v1.Health)';

function rpcError(code: string, text: string): string {
  return `error: health rpc probe failed: rpc error: code = ${code} desc = ${text}`;
}

/** Decodes the percent-encoded `grpc-message`; invalid text stays unchanged. */
function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
