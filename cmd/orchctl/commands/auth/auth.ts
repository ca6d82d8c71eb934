/** Who may do what: `auth can-i` as in kubectl, and `auth who-can`. */

import { subresourceOption } from '#cmd/orchctl/commands/access/target.js';
import { canI } from '#cmd/orchctl/commands/auth/can-i.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { allNamespacesOption } from '#cmd/orchctl/commands/options.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';

export const auth: Command = {
  name: 'auth',
  usage: '(can-i VERB (TYPE | TYPE/NAME | URL) | can-i --list | who-can VERB (TYPE | TYPE/NAME | URL))',
  summary: 'Say whether you may do something, what you may do, and who may do something',
  examples: [
    'orchctl auth can-i create pods',
    'orchctl auth can-i get pods/web --subresource log -n shop',
    'orchctl auth can-i --list --as jane',
    'orchctl auth can-i get /healthz -q',
    'orchctl auth who-can delete deployments.apps -n shop',
  ],
  options: {
    ...allNamespacesOption,
    ...subresourceOption,
    list: { type: 'bool', section: 'Request', meaning: 'can-i: list all rights in the namespace.' },
    quiet: {
      type: 'bool',
      shorthand: 'q',
      section: 'Output',
      meaning: 'can-i: print nothing; the exit code is 0 if it is allowed and 1 if it is not.',
    },
    'no-headers': { type: 'bool', section: 'Output', meaning: 'Print no header row.' },
    output: {
      type: 'string',
      shorthand: 'o',
      section: 'Output',
      oneOf: ['json', 'yaml'],
      meaning: 'who-can: output format.',
    },
  },
  async run(invocation) {
    const [action, ...rest] = invocation.args;
    if (action === 'can-i') return canI(invocation, rest);
    if (action !== 'who-can') throw new UsageError('use: auth can-i or auth who-can');
    // Imported on demand: it needs the rules of roles.
    const { printWhoCan } = await import('#cmd/orchctl/commands/auth/who-can.js');
    return printWhoCan(invocation, rest);
  },
};
