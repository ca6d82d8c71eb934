/** Certificate signing requests whose keys, names and blocks are of any size. */
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
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { Shape } from '#test/fuzz/cost/shapes.js';

const zero = unsignedInteger(Buffer.from([0]));
const usual = Buffer.from([1, 0, 1]);

/** An RSA key that nobody has, and a signature that it did not make. */
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

export function certificateShapes(): Shape[] {
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
