/** The first audit policy of a cluster: what people and pods change, and which secrets they read. */
import { existsSync } from 'node:fs';
import type { Dialect } from '#apimachinery/dialect.js';
import { auditVersion } from '#apiserver/audit/event.js';
import type { Policy } from '#apiserver/audit/policy.js';
import { replaceFile } from '#cluster/process/replace-file.js';

/** Writes the policy unless the file exists: the user may have changed it. Throws the file system's errors. */
export function ensureAuditPolicy(file: string, dialect: Dialect): void {
  if (existsSync(file)) return;
  const policy = { apiVersion: auditVersion(dialect), kind: 'Policy', ...firstAuditPolicy(dialect) };
  replaceFile(file, `${JSON.stringify(policy, null, 2)}\n`);
}

/**
 * Leaves out what daemons read, and what they write all the time. Records the rest at the level Metadata, so that no
 * content of an object reaches the log.
 */
export function firstAuditPolicy(dialect: Dialect): Policy {
  const { users, groups, namespaces } = dialect;
  const reads = ['get', 'list', 'watch'];
  const daemons = [users.controllerManager, users.scheduler, users.serviceProxy];
  const accounts = `${groups.serviceAccounts}:${namespaces.system}`;
  return {
    omitStages: ['RequestReceived'],
    rules: [
      {
        level: 'None',
        resources: [
          { group: '', resources: ['events'] },
          { group: dialect.groupName('events'), resources: ['events'] },
        ],
      },
      { level: 'None', resources: [{ group: dialect.groupName('coordination'), resources: ['leases'] }] },
      { level: 'None', users: [users.apiServer, users.aggregator] },
      { level: 'None', users: daemons, verbs: reads },
      { level: 'None', userGroups: [groups.nodes, accounts], verbs: reads },
      {
        level: 'None',
        userGroups: [groups.nodes],
        resources: [{ group: '', resources: ['nodes/status', 'pods/status'] }],
      },
      {
        level: 'None',
        nonResourceURLs: [
          '/healthz*',
          '/livez*',
          '/readyz*',
          '/version',
          '/metrics',
          '/openapi*',
          '/api',
          '/api/*',
          '/apis',
          '/apis/*',
        ],
      },
      { level: 'Metadata' },
    ],
  };
}
