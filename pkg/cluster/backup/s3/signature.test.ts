import t from 'tap';
import { emptyHash, encoded, signedHeaders } from './signature.js';

/** The published examples: docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html. */
const signing = {
  credentials: { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
  region: 'us-east-1',
  now: new Date('2013-05-24T00:00:00Z'),
};

const host = 'https://examplebucket.s3.amazonaws.com';

for (const [name, request, signature] of [
  [
    'an object',
    { method: 'GET', url: new URL(`${host}/test.txt`), payloadHash: emptyHash, headers: { range: 'bytes=0-9' } },
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'an upload',
    {
      method: 'PUT',
      url: new URL(`${host}/test$file.text`),
      payloadHash: '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
      headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
    },
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  ],
  [
    'a question without a value',
    { method: 'GET', url: new URL(`${host}/?lifecycle`), payloadHash: emptyHash },
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'a list',
    { method: 'GET', url: new URL(`${host}/?max-keys=2&prefix=J`), payloadHash: emptyHash },
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
] as const) {
  t.test(`the published signature of ${name}`, async (t) => {
    t.match(signedHeaders(request, signing)['authorization'], new RegExp(`Signature=${signature}$`));
  });
}

t.test('temporary credentials sign their token', async (t) => {
  const credentials = { ...signing.credentials, sessionToken: 'a token' };
  const request = { method: 'GET', url: new URL(host), payloadHash: emptyHash };
  const headers = signedHeaders(request, { ...signing, credentials });
  t.equal(headers['x-amz-security-token'], 'a token');
  t.match(headers['authorization'], /SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,/);
});

t.equal(encoded("a b/c*'(é)"), 'a%20b%2Fc%2A%27%28%C3%A9%29');
