/** Certificates and tokens, as users ask for them with kubectl. */
import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type DialectName, dialectByName } from '#apimachinery/dialect.js';
import { privateKeyToPem } from '#pki/keys.js';
import { certificateRequest } from '#pki/testing/certificate-request.js';
import { eventually, type RunResult } from '#test/e2e/harness.js';

export interface IdentitySession {
  readonly dialect: DialectName;
  /** Minor version of kubectl: 32 for 1.32. */
  readonly minor: number;
  readonly kubectl: (...args: string[]) => Promise<RunResult>;
}

interface Config {
  readonly users: readonly { readonly name: string }[];
}

/** Leaves nothing behind. */
export async function certificatesAndTokens(t: Test, session: IdentitySession): Promise<void> {
  const { kubectl } = session;
  const folder = await mkdtemp(join(tmpdir(), 'identity-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const ok = async (...args: string[]): Promise<string> => {
    const result = await kubectl(...args);
    t.equal(result.code, 0, `kubectl ${args.join(' ')}`, { stderr: result.stderr });
    return result.stdout;
  };
  const config = JSON.parse(await ok('config', 'view', '--raw', '-o', 'json')) as Config;
  const answerTo = async (user: object) => {
    const file = join(folder, 'config');
    await writeFile(file, JSON.stringify({ ...config, users: config.users.map((each) => ({ ...each, user })) }));
    const { code, stderr } = await kubectl('--kubeconfig', file, 'get', 'nodes');
    t.not(code, 0);
    return stderr;
  };
  await certificate(t, session, { folder, ok, answerTo });
  await secretToken(t, session, { folder, ok, answerTo });
  const token = await boundToken(t, session, { folder, ok, answerTo });
  t.match(await answerTo({ token }), /User "system:serviceaccount:default:default" cannot list/);
}

interface Tools {
  readonly folder: string;
  readonly ok: (...args: string[]) => Promise<string>;
  /** The answer to a list of nodes with the credentials of that user, who may not list them. */
  readonly answerTo: (user: object) => Promise<string>;
}

/** A certificate is requested, approved, issued and used; another one is denied. */
async function certificate(
  t: Test,
  { dialect, kubectl }: IdentitySession,
  { folder, ok, answerTo }: Tools,
): Promise<void> {
  const names = dialectByName(dialect);
  const { request, keys } = await certificateRequest({ subject: { commonName: 'jane', organizations: ['dev'] } });
  const file = join(folder, 'requests.json');
  const item = (name: string) => ({
    apiVersion: names.apiVersion('certificates', 'v1'),
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: { request, signerName: names.signers.apiServerClient, usages: ['client auth'], expirationSeconds: 3600 },
  });
  const list = { apiVersion: 'v1', kind: 'List', items: [item('jane'), item('john')] };
  await writeFile(file, JSON.stringify(list));
  await ok('create', '-f', file);
  t.match(await ok('get', 'csr', 'jane'), /jane .* Pending/);
  if (dialect === 'kubernetes') {
    t.match(await ok('certificate', 'approve', 'jane'), /jane approved/);
    t.match(await ok('certificate', 'deny', 'john'), /john denied/);
  } else {
    t.pass('kubectl certificate', { skip: 'it reads requests of no other group than its own' });
    for (const [name, type] of [
      ['jane', 'Approved'],
      ['john', 'Denied'],
    ] as const) {
      const request = JSON.parse(await ok('get', 'csr', name, '-o', 'json')) as object;
      await writeFile(file, JSON.stringify({ ...request, status: { conditions: [{ type, status: 'True' }] } }));
      const path = `/apis/${names.apiVersion('certificates', 'v1')}/certificatesigningrequests/${name}/approval`;
      await ok('replace', '--raw', path, '-f', file);
    }
  }
  const issued = () => ok('get', 'csr', 'jane', '-o', 'jsonpath={.status.certificate}');
  const pem = Buffer.from(
    await eventually('the certificate', async () => {
      const text = await issued();
      return text === '' ? undefined : text;
    }),
    'base64',
  ).toString();
  t.equal(new X509Certificate(pem).subject, 'O=dev\nCN=jane');
  const both = await ok('get', 'csr', 'jane', 'john');
  t.match(both, /jane .* Approved,Issued/);
  t.match(both, /john .* Denied/);
  const [certificateFile, keyFile] = [join(folder, 'jane.crt'), join(folder, 'jane.key')];
  await writeFile(certificateFile, pem);
  await writeFile(keyFile, privateKeyToPem(keys.privateKey));
  const user = { 'client-certificate': certificateFile, 'client-key': keyFile };
  t.match(await answerTo(user), /User "jane" cannot list/);
  t.equal((await kubectl('get', 'csr', 'john', '-o', 'jsonpath={.status.certificate}')).stdout, '');
  await ok('delete', 'csr', 'jane', 'john');
}

/** A user creates a secret for a token without expiry. */
async function secretToken(t: Test, { dialect }: IdentitySession, { folder, ok, answerTo }: Tools): Promise<void> {
  const { annotations, secretTypes } = dialectByName(dialect);
  const file = join(folder, 'secret.json');
  const metadata = { name: 'lasting', annotations: { [annotations.serviceAccountName]: 'default' } };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: secretTypes.serviceAccountToken };
  await writeFile(file, JSON.stringify(secret));
  await ok('create', '-f', file);
  const text = await eventually('its token', async () => {
    const token = await ok('get', 'secret', 'lasting', '-o', 'jsonpath={.data.token}');
    return token === '' ? undefined : token;
  });
  const token = Buffer.from(text, 'base64').toString();
  t.match(await answerTo({ token }), /User "system:serviceaccount:default:default" cannot list/);
  await ok('delete', 'secret', 'lasting');
}

/** The token of an account for an hour. */
async function boundToken(t: Test, { dialect, minor }: IdentitySession, { folder, ok }: Tools): Promise<string> {
  if (dialect === 'kubernetes' && minor >= 24) return (await ok('create', 'token', 'default')).trim();
  const skip = minor < 24 ? 'this version has no such command' : 'it knows no other group than its own';
  t.pass('kubectl create token', { skip });
  const file = join(folder, 'token.json');
  const apiVersion = dialectByName(dialect).apiVersion('authentication', 'v1');
  await writeFile(file, JSON.stringify({ apiVersion, kind: 'TokenRequest', spec: { expirationSeconds: 3600 } }));
  const path = '/api/v1/namespaces/default/serviceaccounts/default/token';
  const answer = JSON.parse(await ok('create', '--raw', path, '-f', file)) as { status: { token: string } };
  return answer.status.token;
}
