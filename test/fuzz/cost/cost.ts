/** Applies the law of cost to a whole API server. */
import { schemeFor } from '#api/scheme.js';
import {
  bitString,
  explicit,
  nullValue,
  oid,
  sequence,
  set,
  unsignedInteger,
  utf8String,
} from '#apimachinery/asn1/der.js';
import { encodePem } from '#apimachinery/asn1/pem.js';
import type { Clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import { type LawResult, law } from '#test/fuzz/cost/law.js';
import { bodyShapes, ownShapes, type Shape } from '#test/fuzz/cost/shapes.js';
import { storedShapes } from '#test/fuzz/cost/stored.js';
import { tenantServer } from '#test/fuzz/cost/tenant.js';
import { everyCase, gateFor } from '#test/integration/apiserver/resources/every-case.js';
import { call, runServer } from '#test/integration/apiserver/server.js';

const zero = unsignedInteger(Buffer.from([0]));
const usual = Buffer.from([1, 0, 1]);

/** A request with an arbitrary RSA public key and an invalid signature. */
function request(modulusBytes: number, exponent: Buffer, names = 1): Buffer {
  const number = Buffer.alloc(modulusBytes, 0xff);
  const key = sequence(
    sequence(oid('1.2.840.113549.1.1.1'), nullValue()),
    bitString(sequence(unsignedInteger(number), unsignedInteger(exponent))),
  );
  const name = sequence(...Array.from({ length: names }, (_, i) => set(sequence(oid('2.5.4.3'), utf8String(`a${i}`)))));
  const info = sequence(zero, name, key, explicit(0));
  const signature = Buffer.alloc(modulusBytes, 0x7f);
  return sequence(info, sequence(oid('1.2.840.113549.1.1.11'), nullValue()), bitString(signature));
}

function certificateShapes(): Shape[] {
  const block = (der: Buffer) => encodePem('CERTIFICATE REQUEST', der);
  const shape = (name: string, size: number, text: (size: number) => string): Shape => ({
    name: `a certificate signing request with ${name}`,
    size,
    request: (n) => ({
      method: 'POST',
      url: `/apis/${dialect.groupName('certificates')}/v1/certificatesigningrequests?dryRun=All`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(
        JSON.stringify({
          metadata: { name: 'a' },
          spec: {
            request: Buffer.from(text(n)).toString('base64'),
            signerName: 'example.com/a',
            usages: ['client auth'],
          },
        }),
      ),
    }),
  });
  return [
    shape('a large modulus', 1024, (size) => block(request(size, usual))),
    shape('a modulus larger than any', 200_000, (size) => block(request(size, usual))),
    shape('a large exponent', 190, (size) => block(request(size, Buffer.alloc(size, 0x7f)))),
    shape('a large modulus and exponent', 500, (size) => block(request(size, Buffer.alloc(size, 0x7f)))),
    shape('many names', 20_000, (size) => block(request(256, usual, size))),
    shape('many blocks', 2000, (size) => block(request(256, usual)).repeat(size)),
    shape('blocks without an end', 20_000, (size) => '-----BEGIN A-----\n'.repeat(size)),
    shape('a long label', 200_000, (size) => `-----BEGIN ${'A '.repeat(size)}-----\n`),
  ];
}

export interface CostOptions {
  readonly seed: number;
  readonly milliseconds: number;
  readonly clock: Clock;
  readonly onInput?: (count: number) => void;
}

/** All shapes of hostile requests, and random fields of kinds until the time is over. Throws an Error. */
export async function fuzzCost(options: CostOptions): Promise<LawResult> {
  return both(await tenantCost(options), await requestCost(options));
}

function both(a: LawResult, b: LawResult): LawResult {
  const { longest, longestOf } = a.longest > b.longest ? a : b;
  return { inputs: a.inputs + b.inputs, compared: a.compared + b.compared, longest, longestOf };
}

/** The cost for other users if a tenant stores large objects. */
async function tenantCost(options: CostOptions): Promise<LawResult> {
  const { server, stop, shapes } = await tenantServer();
  try {
    return await law(shapes, { ...options, server, dialect: kubernetesDialect, milliseconds: 600_000 });
  } finally {
    await stop();
  }
}

async function requestCost(options: CostOptions): Promise<LawResult> {
  const dialect = kubernetesDialect;
  const map = everyCase.find(({ resource }) => resource.resource === 'configmaps');
  if (map === undefined) throw new Error('no config maps');
  const { server, stop } = await runServer({ dialect, unfrozen: true, dependencies: { gate: gateFor(everyCase) } });
  try {
    await call(server, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } });
    const hostile = [...ownShapes(map), ...certificateShapes(), ...(await storedShapes(server))];
    const own = await law(hostile, { ...options, server, dialect, milliseconds: 600_000 });
    return both(own, await law(bodyShapes(schemeFor(dialect), dialect), { ...options, server, dialect }));
  } finally {
    await stop();
  }
}
