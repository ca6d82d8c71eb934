/** Options and user of both servers. */
import type { Test } from 'tap';
import type { Dialect } from '#apimachinery/dialect.js';
import { clusterCredentials } from '#test/integration/apiserver/complete-server.js';

export const admin = { token: 'peer-admin', name: 'admin' };

/** The command line of both servers, except for addresses and stores. */
export async function credentialsFor(t: Pick<Test, 'teardown'>, dialect: Dialect): Promise<readonly string[]> {
  const { argv } = await clusterCredentials(t, dialect, `${admin.token},${admin.name},1,"${dialect.groups.masters}"\n`);
  return [
    ...argv,
    // Nothing creates the accounts that it waits for.
    ...[
      '--disable-admission-plugins',
      'ServiceAccount',
      '--service-cluster-ip-range',
      '10.0.0.0/16',
      '--allow-privileged=true',
    ],
  ];
}
