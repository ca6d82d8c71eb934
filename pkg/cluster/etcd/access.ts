/** Access to the cluster's etcd: its own one by the files of the data directory, a foreign one by options. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { etcdEndpoint } from '#cluster/config/etcd-member.js';
import type { Layout } from '#cluster/config/layout.js';
import type { etcdOptions } from '#cluster/config/options.js';
import { type ClusterSettings, readSettings } from '#cluster/config/settings.js';
import type { ForeignEtcd } from '#cluster/config/start-options.js';
import { readIdentity } from '#cluster/process/identity.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { CertificateFiles } from '#daemon/certificates/certificate-files.js';
import type { OptionValues } from '#daemon/options/option.js';
import type { EtcdAccess } from '#etcd-admin/admin.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';

type EtcdOptionValues = OptionValues<typeof etcdOptions>;

export interface ChosenEtcd {
  readonly access: EtcdAccess;
  /** Settings of the cluster in the data directory; undefined where the options name an etcd. */
  readonly settings: ClusterSettings | undefined;
}

/** Throws a SetupError with the remedy when no etcd is running. */
export function chooseEtcd(values: EtcdOptionValues, layout: Layout): ChosenEtcd {
  const endpoints = values['etcd-servers'];
  if (endpoints.length > 0) {
    const files = { caFile: values['etcd-cafile'], certFile: values['etcd-certfile'], keyFile: values['etcd-keyfile'] };
    return { access: etcdAccess({ endpoints, ...files }), settings: undefined };
  }
  const settings = readSettings(layout.settings);
  if (settings === undefined) {
    throw new SetupError(`${layout.root} holds no cluster; give its --data-dir, or --etcd-servers`);
  }
  if (settings.store !== 'etcd') throw new SetupError(`the cluster in ${layout.root} keeps its objects in memory`);
  const access = runningEtcd(layout, settings);
  if (access === undefined) {
    throw new SetupError(
      `the cluster in ${layout.root} has no running etcd; start it with orch up, or give the --etcd-servers that it uses`,
    );
  }
  return { access, settings };
}

/** The cluster's own etcd on this machine; undefined when it is not running. */
export function runningEtcd(layout: Layout, { etcdClientPort }: ClusterSettings): EtcdAccess | undefined {
  if (readIdentity(join(layout.run, 'etcd.pid')) === undefined) return undefined;
  return ownEtcdAccess(layout, [etcdEndpoint(etcdClientPort)]);
}

/** Access to members of the cluster's own etcd. Throws a SetupError without certificates. */
export function ownEtcdAccess(layout: Layout, endpoints: readonly string[]): EtcdAccess {
  const at = (name: string) => join(layout.pki, name);
  const files = { caFile: at('etcd-ca.crt'), certFile: at('etcd-client.crt'), keyFile: at('etcd-client.key') };
  return etcdAccess({ endpoints, ...files });
}

/** Throws a SetupError for an unreadable file. */
export function etcdAccess({ endpoints, caFile, certFile, keyFile }: ForeignEtcd): EtcdAccess {
  const tls = {
    ...(caFile === undefined ? {} : { ca: readCertificate(caFile) }),
    ...(certFile === undefined ? {} : { cert: readCertificate(certFile) }),
    ...(keyFile === undefined ? {} : { key: readCertificate(keyFile) }),
  };
  return { endpoints, clock: realClock, ...(Object.keys(tls).length === 0 ? {} : { tls }) };
}

/** A client for the objects in etcd. */
export function openStore({ endpoints, tls, clock }: EtcdAccess): EtcdStore {
  return new EtcdStore({ endpoints, clock, random: Math.random, ...(tls === undefined ? {} : { tls }) });
}

/** The same for a long-lived process: it reads the certificate files again for each connection. */
export function openLastingStore({ endpoints, caFile, certFile, keyFile }: ForeignEtcd): EtcdStore {
  const files = new CertificateFiles({ files: { ca: caFile, cert: certFile, key: keyFile } });
  const isPlain = caFile === undefined && certFile === undefined && keyFile === undefined;
  const tls = isPlain ? {} : { tls: () => files.readOrLast() };
  return new EtcdStore({ endpoints, clock: realClock, random: Math.random, ...tls });
}

function readCertificate(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new SetupError(messageOf(error));
  }
}
