/** `create configmap`, `secret …`, `namespace` and `serviceaccount`. */
import { createHash, createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { messageOf } from '#apimachinery/errors/message.js';
import type { ApiObject } from '#client/client.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { builderCommand, dialectOf, newMetadata } from '#cmd/orchctl/commands/create/builder.js';
import { dataOf, dataOptions } from '#cmd/orchctl/commands/create/data.js';
import { commandGroup } from '#cmd/orchctl/commands/group.js';
import { goJSON } from '#cmd/orchctl/print/json/go-json.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';
import type { OptionTable } from '#daemon/options/option.js';

const hashOption = {
  'append-hash': { type: 'bool', section: 'Content', meaning: 'Append a hash of the content to the name.' },
} as const satisfies OptionTable;

export const namespace = builderCommand({
  name: 'namespace',
  aliases: ['ns'],
  usage: 'NAME',
  summary: 'Create a namespace',
  examples: ['orchctl create namespace shop'],
  options: {},
  build: (_invocation, name) =>
    ({ kind: 'Namespace', apiVersion: 'v1', metadata: newMetadata(name), spec: {}, status: {} }) as ApiObject,
});

export const serviceaccount = builderCommand({
  name: 'serviceaccount',
  aliases: ['sa'],
  usage: 'NAME',
  summary: 'Create a service account',
  examples: ['orchctl create serviceaccount builder'],
  failure: 'failed to create serviceaccount: ',
  options: {},
  build: (_invocation, name) => ({ kind: 'ServiceAccount', apiVersion: 'v1', metadata: newMetadata(name) }),
});

export const configmap = builderCommand({
  name: 'configmap',
  aliases: ['cm'],
  usage: 'NAME [--from-literal KEY=VALUE…] [--from-file FILE…] [--from-env-file FILE…]',
  summary: 'Create a configmap from literals, files or folders',
  examples: [
    'orchctl create configmap colors --from-literal=sky=blue --from-literal=grass=green',
    'orchctl create configmap site --from-file=pages/',
  ],
  failure: 'failed to create configmap: ',
  options: { ...dataOptions, ...hashOption },
  build(invocation, name) {
    const entries = dataOf(invocation, {
      what: 'config',
      invalidKey: (key, why) => `${JSON.stringify(key)} is not a valid key name for a ConfigMap: ${why}`,
      repeatedKey: (key) =>
        `cannot add key ${JSON.stringify(key)}, another key by that name already exists in Data for ConfigMap ${JSON.stringify(name)}`,
    });
    const data: Record<string, string> = {};
    const binaryData: Record<string, string> = {};
    for (const [key, value] of inOrder(entries)) {
      if (isText(value)) data[key] = value.toString('utf8');
      else binaryData[key] = value.toString('base64');
    }
    const binary = Object.keys(binaryData).length > 0 ? { binaryData } : {};
    const content = { ...(Object.keys(data).length > 0 ? { data } : {}), ...binary };
    const hashed = { ...binary, data, kind: 'ConfigMap', name };
    return {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: newMetadata(withHash(invocation, name, hashed)),
      ...content,
    } as ApiObject;
  },
});

function inOrder(entries: ReadonlyMap<string, Buffer>): [string, Buffer][] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
}

function isText(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString('utf8')).equals(bytes);
}

/** The name with a hash of the content, by the rule of release 1.24 (kubectl, pkg/util/hash). */
function withHash({ values }: Invocation, name: string, content: object): string {
  if (!values.bool('append-hash')) return name;
  const digits: Readonly<Record<string, string>> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' };
  const hex = createHash('sha256').update(goJSON(content)).digest('hex').slice(0, 10);
  return `${name}-${[...hex].map((digit) => digits[digit] ?? digit).join('')}`;
}

function secretObject(
  invocation: Invocation,
  name: string,
  type: string,
  entries: ReadonlyMap<string, Buffer>,
): ApiObject {
  const data = Object.fromEntries(inOrder(entries).map(([key, value]) => [key, value.toString('base64')]));
  const hashed = { data, kind: 'Secret', name, type };
  return {
    kind: 'Secret',
    apiVersion: 'v1',
    metadata: newMetadata(withHash(invocation, name, hashed)),
    ...(Object.keys(data).length > 0 ? { data } : {}),
    ...(type === '' ? {} : { type }),
  } as ApiObject;
}

const secretWords = {
  what: 'secret',
  invalidKey: (key: string, why: string) => `${JSON.stringify(key)} is not valid key name for a Secret ${why}`,
  repeatedKey: (key: string) => `cannot add key ${key}, another key by that name already exists`,
};

const generic = builderCommand({
  name: 'generic',
  usage: 'NAME [--type TYPE] [--from-literal KEY=VALUE…] [--from-file FILE…] [--from-env-file FILE…]',
  summary: 'Create a secret from literals, files or folders',
  examples: ['orchctl create secret generic login --from-literal=user=jane --from-file=key=./id'],
  failure: 'failed to create secret ',
  options: {
    ...dataOptions,
    ...hashOption,
    type: { type: 'string', section: 'Content', meaning: 'Type of the secret.' },
  },
  build: (invocation, name) =>
    secretObject(invocation, name, invocation.values.string('type') ?? '', dataOf(invocation, secretWords)),
});

const tls = builderCommand({
  name: 'tls',
  usage: 'NAME --cert FILE --key FILE',
  summary: 'Create a secret with a certificate and its key',
  examples: ['orchctl create secret tls site --cert=site.crt --key=site.key'],
  failure: 'failed to create secret ',
  options: {
    ...hashOption,
    cert: { type: 'string', section: 'Content', meaning: 'File of the certificate, in PEM.' },
    key: { type: 'string', section: 'Content', meaning: "File of the certificate's key, in PEM." },
  },
  async build(invocation, name) {
    const [cert = '', key = ''] = ['cert', 'key'].map((option) => invocation.values.string(option));
    if (cert === '' || key === '') throw new CommandError('key and cert must be specified');
    const pair = { cert: readPart(cert), key: readPart(key) };
    checkPair(pair);
    const { secretTypes } = await dialectOf(invocation);
    const entries = new Map([
      ['tls.crt', pair.cert],
      ['tls.key', pair.key],
    ]);
    return secretObject(invocation, name, secretTypes.tls, entries);
  },
});

function readPart(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? `open ${path}: no such file or directory` : messageOf(error);
    throw new CommandError(`Cannot read file ${path}, ${why}`);
  }
}

/** Throws a CommandError in the words of Go's library. */
function checkPair({ cert, key }: { readonly cert: Buffer; readonly key: Buffer }): void {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch {
    throw new CommandError('tls: failed to find any PEM data in certificate input');
  }
  let publicKey: Buffer;
  try {
    publicKey = createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'der' });
  } catch {
    throw new CommandError('tls: failed to find any PEM data in key input');
  }
  if (!certificate.publicKey.export({ type: 'spki', format: 'der' }).equals(publicKey)) {
    throw new CommandError('tls: private key does not match public key');
  }
}

const dockerRegistry = builderCommand({
  name: 'docker-registry',
  usage: 'NAME --docker-username USER --docker-password PASSWORD [--docker-server SERVER] [--docker-email EMAIL]',
  summary: 'Create a secret with which images are pulled from a registry',
  examples: [
    'orchctl create secret docker-registry pull --docker-server=r.example --docker-username=u --docker-password=p',
  ],
  failure: 'failed to create secret ',
  options: {
    ...hashOption,
    'docker-server': {
      type: 'string',
      default: 'https://index.docker.io/v1/',
      section: 'Content',
      meaning: 'Address of the registry.',
    },
    'docker-username': { type: 'string', section: 'Content', meaning: 'User name at the registry.' },
    'docker-password': { type: 'string', section: 'Content', meaning: 'Password at the registry.' },
    'docker-email': { type: 'string', section: 'Content', meaning: 'E-mail address at the registry.' },
    'from-file': dataOptions['from-file'],
  },
  async build(invocation, name) {
    const { values } = invocation;
    const option = (key: string) => values.string(`docker-${key}`) ?? '';
    const [server, username, password, email] = ['server', 'username', 'password', 'email'].map(option) as [
      string,
      string,
      string,
      string,
    ];
    const files = values.strings('from-file');
    if (files.length === 0 && [server, username, password].includes('')) {
      throw new CommandError(
        'either --from-file or the combination of --docker-username, --docker-password and --docker-server is required',
      );
    }
    const auth = Buffer.from(`${username}:${password}`).toString('base64');
    const entry = { username, password, ...(email === '' ? {} : { email }), auth };
    const entries =
      files.length > 0
        ? dataOf(invocation, secretWords)
        : new Map([['.dockerconfigjson', Buffer.from(JSON.stringify({ auths: { [server]: entry } }))]]);
    const { secretTypes } = await dialectOf(invocation);
    return secretObject(invocation, name, secretTypes.dockerConfigJson, entries);
  },
});

export const secret = commandGroup({
  name: 'secret',
  summary: 'Create a secret: generic, tls or docker-registry',
  examples: [],
  subcommands: [generic, tls, dockerRegistry],
});
