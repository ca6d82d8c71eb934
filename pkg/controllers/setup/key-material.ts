/** Reads the certificates and keys named by the manager's options. Errors are OptionsErrors, which end the start. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { SigningAuthorities } from '#controllers/csrsigning/controller.js';
import type { Signer } from '#controllers/csrsigning/plan.js';
import type { ControllerManagerValues } from '#controllers/options/options.js';
import { certificateBundle, FollowedFile, textOf } from '#daemon/certificates/followed-file.js';
import { OptionsError } from '#daemon/options/option.js';
import type { KeyCertificate } from '#pki/certificate.js';
import { type JwtSigningKey, jwtSigningKey } from '#pki/jwt.js';
import { signData } from '#pki/keys.js';

/** The PEM bundle that verifies the API server. */
export function rootCertificates(file: string | undefined): Promise<FollowedFile<string> | undefined> {
  return FollowedFile.read('root-ca-file', file, certificateBundle);
}

/** The key that signs service account tokens. */
export function serviceAccountKey(file: string | undefined): Promise<FollowedFile<JwtSigningKey> | undefined> {
  return FollowedFile.read('service-account-private-key-file', file, (text) => jwtSigningKey(createPrivateKey(text)));
}

/** The options that name the files of an authority. */
interface AuthorityFiles {
  readonly certificate: FileOption;
  readonly key: FileOption;
}

type FileOption = Extract<keyof ControllerManagerValues, `cluster-signing-${string}-file`>;

const common: AuthorityFiles = { certificate: 'cluster-signing-cert-file', key: 'cluster-signing-key-file' };

const own: Readonly<Record<Signer, AuthorityFiles>> = {
  apiServerClient: {
    certificate: 'cluster-signing-orch-apiserver-client-cert-file',
    key: 'cluster-signing-orch-apiserver-client-key-file',
  },
  apiServerClientNodeAgent: {
    certificate: 'cluster-signing-nodeagent-client-cert-file',
    key: 'cluster-signing-nodeagent-client-key-file',
  },
  nodeAgentServing: {
    certificate: 'cluster-signing-nodeagent-serving-cert-file',
    key: 'cluster-signing-nodeagent-serving-key-file',
  },
  legacyUnknown: {
    certificate: 'cluster-signing-legacy-unknown-cert-file',
    key: 'cluster-signing-legacy-unknown-key-file',
  },
};

export type AuthorityOptions = Partial<Pick<ControllerManagerValues, FileOption>>;

/**
 * The authority of each signer: its own, or the general one if no signer has its own. The files are read for each
 * certificate, so they can be replaced at run time. If a file has several certificates, as during a rotation, the first
 * one signs; 1.24 accepts one certificate only.
 */
export async function signingAuthorities(values: AuthorityOptions): Promise<SigningAuthorities> {
  const isSet = (option: FileOption) => (values[option] ?? '') !== '';
  const signers = Object.keys(own) as Signer[];
  const withOwn = signers.filter((signer) => isSet(own[signer].certificate));
  const authorities: Partial<Record<Signer, () => Promise<KeyCertificate>>> = {};
  for (const signer of withOwn.length > 0 ? withOwn : signers) {
    const options = withOwn.length > 0 ? own[signer] : common;
    if (!isSet(options.certificate)) continue;
    const read = () => readAuthorityFiles(values, options);
    await read();
    authorities[signer] = read;
  }
  return authorities;
}

async function readAuthorityFiles(values: AuthorityOptions, options: AuthorityFiles): Promise<KeyCertificate> {
  // One after the other, so that of two missing files the error always names the certificate.
  const certificate = await textOf(options.certificate, values[options.certificate] ?? '');
  const privateKey = await textOf(options.key, values[options.key] ?? '');
  if (certificatesInPem(certificate).length === 0)
    throw new OptionsError([`--${options.certificate}: expected 1 certificate, found 0`]);
  try {
    const key = createPrivateKey(privateKey);
    // Throws for a key that cannot sign.
    signData(key, Buffer.alloc(0));
    if (new X509Certificate(certificate).checkPrivateKey(key)) return { certificate, privateKey };
  } catch (error) {
    throw new OptionsError([`--${options.certificate}, --${options.key}: ${messageOf(error)}`]);
  }
  throw new OptionsError([`--${options.key} is not the key of --${options.certificate}`]);
}
