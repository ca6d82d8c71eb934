/** `certificate`: approves and denies certificate signing requests. */

import { formatTime } from '#apimachinery/clock.js';
import type { ApiObject } from '#client/client.js';
import { objectPath } from '#cmd/orchctl/api/api.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { commandGroup } from '#cmd/orchctl/commands/group.js';
import { readsFiles } from '#cmd/orchctl/commands/manifests.js';
import { filenameOptions } from '#cmd/orchctl/commands/options.js';
import { select } from '#cmd/orchctl/commands/selection.js';
import { resultPrinter } from '#cmd/orchctl/commands/writing.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { CommandError, throwAll } from '#cmd/orchctl/terminal/errors.js';

interface Request extends ApiObject {
  readonly status?: { readonly conditions?: readonly { readonly type?: string }[] };
}

const decision = (name: 'approve' | 'deny', summary: string): Command => ({
  name,
  usage: '(NAME… | -f FILE)',
  summary,
  examples: [`orchctl certificate ${name} csr-x7k2p`],
  options: {
    ...filenameOptions,
    ...printOptions,
    force: { type: 'bool', section: 'Writing', meaning: 'Decide again, where it was decided before.' },
  },
  run: (invocation) => decide(invocation, name),
});

export const certificate = commandGroup({
  name: 'certificate',
  summary: 'Approve and deny certificate signing requests',
  examples: ['orchctl certificate approve csr-x7k2p'],
  subcommands: [
    decision('approve', 'Approve certificate signing requests'),
    decision('deny', 'Deny certificate signing requests'),
  ],
});

async function decide(invocation: Invocation, action: 'approve' | 'deny'): Promise<number> {
  const { api, args, clock, values } = invocation;
  if (args.length === 0 && !readsFiles(values)) {
    throw new CommandError('one or more CSRs must be specified as <name> or -f <filename>');
  }
  const named = args.map((name) => (name.includes('/') ? name : `certificatesigningrequests/${name}`));
  const { infos, errors } = await select(invocation, { args: named });
  const print = await resultPrinter(invocation, 'none');
  const failures = [...errors];
  const [type, other] = action === 'approve' ? (['Approved', 'Denied'] as const) : (['Denied', 'Approved'] as const);
  for (const { object, name, resource } of infos) {
    try {
      const conditions = (object as Request).status?.conditions ?? [];
      const isDecided = conditions.some((each) => each.type === type);
      if (conditions.some((each) => each.type === other) && !values.bool('force')) {
        throw new CommandError(`certificate signing request ${JSON.stringify(name)} is already ${other}`);
      }
      if (!isDecided || values.bool('force')) {
        const verb = action === 'approve' ? 'approved' : 'denied';
        const condition = {
          type,
          status: 'True',
          reason: action === 'approve' ? 'OrchctlApprove' : 'OrchctlDeny',
          message: `This CSR was ${verb} by orchctl certificate ${action}.`,
          lastUpdateTime: formatTime(clock.now()),
        };
        const status = {
          ...(object as Request).status,
          conditions: [...conditions.filter((each) => each.type !== type), condition],
        };
        await api.json('PUT', objectPath(resource, name, {}, 'approval'), { ...object, status });
      }
      print(object, action === 'approve' ? 'approved' : 'denied');
    } catch (error) {
      failures.push(error);
    }
  }
  throwAll(failures);
  return 0;
}
