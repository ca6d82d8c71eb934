/** How the cluster's etcd is reached: its own one by the files of the data directory, another by options. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { etcdOptions } from '#cmd/orch/context/etcd-options.js';
import type { Layout } from '#cmd/orch/context/layout.js';
import { type ClusterSettings, readSettings } from '#cmd/orch/context/settings.js';
import type { ForeignEtcd } from '#cmd/orch/context/start-options.js';
import { etcdEndpoint } from '#cmd/orch/process/etcd.js';
import { readIdentity } from '#cmd/orch/process/identity.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { CertificateFiles } from '#daemon/certificates/certificate-files.js';
import type { OptionValues } from '#daemon/options/option.js';
import type { EtcdAccess } from '#etcd-admin/admin.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';

type EtcdOptionValues = OptionValues<typeof etcdOptions>;

export interface ChosenEtcd {
  readonly access: EtcdAccess;
  /** Of the cluster in the data directory; undefined where the options name an etcd. */
  readonly settings: ClusterSettings | undefined;
}

/** Throws a SetupError that says what to do when there is none that runs. */
export function chooseEtcd(values: EtcdOptionValues, layout: Layout): ChosenEtcd {
  const endpoints = values['etcd-servers'];
  if (endpoints.length > 0) {
    const files = { caFile: values['etcd-cafile'], certFile: values['etcd-certfile'], keyFile: values['etcd-keyfile'] };
    return { access: etcdAccess({ endpoints, ...files }), settings: undefined };
  }
  const settings = readSettings(layout.settings);
  if (settings === undefined) {
    throw new SetupError(`${layout.root} holds no cluster: give its --data-dir, or the --etcd-servers of another`);
  }
  if (settings.store !== 'etcd') throw new SetupError(`the cluster in ${layout.root} keeps its objects in memory`);
  const access = runningEtcd(layout, settings);
  if (access === undefined) {
    throw new SetupError(
      `no etcd of the cluster in ${layout.root} runs: start it with orch up, or give the --etcd-servers that it uses`,
    );
  }
  return { access, settings };
}

/** The cluster's own etcd, on this machine; undefined where none runs. */
export function runningEtcd(layout: Layout, { etcdClientPort }: ClusterSettings): EtcdAccess | undefined {
  if (readIdentity(join(layout.run, 'etcd.pid')) === undefined) return undefined;
  return ownEtcdAccess(layout, [etcdEndpoint(etcdClientPort)]);
}

/** To members of the cluster's own etcd. Throws a SetupError where there are no certificates. */
export function ownEtcdAccess(layout: Layout, endpoints: readonly string[]): EtcdAccess {
  const at = (name: string) => join(layout.pki, name);
  const files = { caFile: at('etcd-ca.crt'), certFile: at('etcd-client.crt'), keyFile: at('etcd-client.key') };
  return etcdAccess({ endpoints, ...files });
}

/** Throws a SetupError for a file that cannot be read. */
export function etcdAccess({ endpoints, caFile, certFile, keyFile }: ForeignEtcd): EtcdAccess {
  const tls = {
    ...(caFile === undefined ? {} : { ca: contentOf(caFile) }),
    ...(certFile === undefined ? {} : { cert: contentOf(certFile) }),
    ...(keyFile === undefined ? {} : { key: contentOf(keyFile) }),
  };
  return { endpoints, clock: realClock, ...(Object.keys(tls).length === 0 ? {} : { tls }) };
}

/** A client for the objects in it. */
export function openStore({ endpoints, tls, clock }: EtcdAccess): EtcdStore {
  return new EtcdStore({ endpoints, clock, random: Math.random, ...(tls === undefined ? {} : { tls }) });
}

/** The same for a process that lasts longer than certificates: their files are read again for each connection. */
export function openLastingStore({ endpoints, caFile, certFile, keyFile }: ForeignEtcd): EtcdStore {
  const files = new CertificateFiles({ files: { ca: caFile, cert: certFile, key: keyFile } });
  const isPlain = caFile === undefined && certFile === undefined && keyFile === undefined;
  const tls = isPlain ? {} : { tls: () => files.readOrLast() };
  return new EtcdStore({ endpoints, clock: realClock, random: Math.random, ...tls });
}

function contentOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new SetupError(messageOf(error));
  }
}
