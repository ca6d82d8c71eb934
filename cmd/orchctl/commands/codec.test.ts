import { Readable } from 'node:stream';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { codec } from '#cmd/orchctl/commands/codec.js';
import { run } from '#cmd/orchctl/run.js';

interface Given {
  readonly input?: string | Buffer;
  readonly terminal?: boolean;
}

async function ctl(args: readonly string[], { input = '', terminal = false }: Given = {}) {
  const out: Buffer[] = [];
  const err: string[] = [];
  const code = await run([codec], ['codec', ...args], {
    stdin: Readable.from([Buffer.from(input)]) as unknown as NodeJS.ReadStream,
    out: { write: (part) => out.push(Buffer.from(part)), isTTY: terminal },
    err: { write: (part) => err.push(part.toString()) },
    env: {},
    clock: realClock,
    signal: new AbortController().signal,
    onResize: () => () => undefined,
  });
  return { code, out: Buffer.concat(out), err: err.join('') };
}

const configMap = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}';

t.test('converts standard input without a server', async (t) => {
  const protobuf = await ctl(['--to', 'protobuf'], { input: configMap });
  t.equal(protobuf.code, 0);
  t.equal(protobuf.out.toString('latin1', 0, 4), 'k8s\0');
  const yaml = await ctl(['--to', 'yaml', '--dialect', 'kubernetes'], { input: protobuf.out });
  t.equal(yaml.out.toString(), 'kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\n');
  t.equal((await ctl(['--to', 'json', '--from', 'yaml'], { input: yaml.out })).code, 0);
});

t.test('reports wrong usage and invalid input', async (t) => {
  t.match(await ctl([]), { code: 1, err: /--to json\|yaml\|protobuf/ });
  t.match(await ctl(['--to', 'xml']), { code: 1, err: /--to takes one of json, yaml, protobuf, not "xml"/ });
  t.match(await ctl(['--to', 'json', 'a.yaml']), { code: 1, err: /codec --to json < a\.yaml/ });
  const refused = await ctl(['--to', 'protobuf'], { input: configMap, terminal: true });
  t.match(refused, { code: 1, err: /terminal; send it to a file: codec --to protobuf > FILE/ });
  t.equal(refused.out.length, 0);
  t.match(await ctl(['--to', 'json'], { input: 'kind: Pod' }), {
    code: 1,
    err: 'error: standard input: apiVersion is not set\n',
  });
  t.match(await ctl(['--to', 'yaml'], { input: configMap.replace('{', '{"x":1,') }), {
    code: 0,
    err: 'Warning: unknown field "x"\n',
  });
});
