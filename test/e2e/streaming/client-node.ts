/** exec, attach, port-forward, copies and logs by the client library for Node.js, which speaks WebSocket. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { PassThrough, Readable, Writable } from 'node:stream';
import { Attach, Exec, KubeConfig, Log, PortForward, type V1Status } from '@kubernetes/client-node';
import type { Test } from 'tap';

/** Keeps the written bytes. */
class Kept extends Writable {
  readonly #parts: Buffer[] = [];

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#parts.push(chunk);
    this.emit('more');
    done();
  }

  async until(done: (bytes: Buffer) => boolean): Promise<void> {
    while (!done(this.bytes)) await once(this, 'more');
  }
}

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

export async function clientNodeStreams(
  t: Test,
  options: { config: string; pod: string; reader: string },
): Promise<void> {
  const { pod, reader } = options;
  const config = new KubeConfig();
  config.loadFromString(readFileSync(options.config, 'utf8'));
  const exec = async (command: string[], stdin: Readable | null = null) => {
    const [out, err] = [new Kept(), new Kept()];
    const status = await new Promise<V1Status>((resolve, reject) => {
      new Exec(config).exec('default', pod, 'main', command, out, err, stdin, false, resolve).catch(reject);
    });
    return { out: out.bytes, err: err.bytes.toString(), status };
  };
  const failed = await exec(['sh', '-c', 'echo out; echo err >&2; exit 7']);
  t.match(failed, {
    out: Buffer.from('out\n'),
    err: 'err\n',
    status: {
      status: 'Failure',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '7' }] },
    },
  });
  const sent = randomBytes(3 * 1024 * 1024);
  const echoed = await exec(['cat'], Readable.from([sent.subarray(0, 1_000_000), sent.subarray(1_000_000)]));
  t.match(echoed.status, { status: 'Success' });
  t.equal(digest(echoed.out), digest(sent), 'input, its end, and output');

  const attached = new Kept();
  const input = new PassThrough();
  const session = await new Attach(config).attach('default', reader, 'main', attached, null, input, false);
  input.write('from node\n');
  await attached.until((bytes) => bytes.includes('from node\n'));
  session.close();

  const answer = new Kept();
  const errors = new Kept();
  const request = new PassThrough();
  const forward = await new PortForward(config).portForward('default', pod, [8080], answer, errors, request);
  request.write('GET /big HTTP/1.0\r\n\r\n');
  await answer.until((bytes) => bytes.length > 1024 * 1024);
  t.match(answer.bytes.toString('latin1', 0, 20), /^HTTP\/1\.\d 200/);
  t.equal(errors.bytes.length, 0);
  if ('close' in forward) forward.close();

  const log = new Kept();
  const following = await new Log(config).log('default', pod, 'main', log, { follow: true });
  await log.until((bytes) => bytes.includes('ready\n'));
  following.abort();
}
