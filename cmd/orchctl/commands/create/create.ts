/** `create`: objects from files, or from flags by a subcommand for their kind. */
import type { ApiObject } from '#client/client.js';
import { collectionPath, withQuery } from '#cmd/orchctl/api/api.js';
import { withAppliedAnnotation } from '#cmd/orchctl/commands/applied.js';
import { checkedManifests, manifestOptions } from '#cmd/orchctl/commands/checked-manifests.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { fieldManager, saveConfigOption } from '#cmd/orchctl/commands/create/builder.js';
import { commandHelp } from '#cmd/orchctl/commands/help.js';
import { readsFiles } from '#cmd/orchctl/commands/manifests.js';
import { matchesSelector } from '#cmd/orchctl/commands/matching.js';
import { managerOption } from '#cmd/orchctl/commands/options.js';
import { dryRunOf, resultPrinter, withSource, writeQuery } from '#cmd/orchctl/commands/writing.js';
import { CommandError, SilentExit, throwAll, UsageError } from '#cmd/orchctl/terminal/errors.js';
import { directiveOf } from '#cmd/orchctl/validation/validate.js';

const workloads = () => import('#cmd/orchctl/commands/create/workloads.js');
const config = () => import('#cmd/orchctl/commands/create/config.js');
const access = () => import('#cmd/orchctl/commands/create/access.js');
const policy = () => import('#cmd/orchctl/commands/create/policy.js');
const networking = () => import('#cmd/orchctl/commands/create/networking.js');

export const create: Command = {
  name: 'create',
  usage: '(-f FILE | SUBCOMMAND)',
  summary: 'Create new objects',
  examples: [
    'orchctl create -f job.yaml',
    'orchctl create namespace shop',
    'orchctl create deployment web --image=nginx --dry-run=client -o yaml',
    'orchctl create configmap colors --from-literal sky=blue',
  ],
  subcommands: [
    { name: 'clusterrole', summary: 'Create a cluster role', load: async () => (await access()).clusterrole },
    {
      name: 'clusterrolebinding',
      summary: 'Give subjects a cluster role in the whole cluster',
      load: async () => (await access()).clusterrolebinding,
    },
    { name: 'configmap', aliases: ['cm'], summary: 'Create a configmap', load: async () => (await config()).configmap },
    { name: 'cronjob', aliases: ['cj'], summary: 'Create a cron job', load: async () => (await workloads()).cronjob },
    {
      name: 'deployment',
      aliases: ['deploy'],
      summary: 'Create a deployment',
      load: async () => (await workloads()).deployment,
    },
    { name: 'ingress', aliases: ['ing'], summary: 'Create an ingress', load: async () => (await networking()).ingress },
    { name: 'job', summary: 'Create a job', load: async () => (await workloads()).job },
    { name: 'namespace', aliases: ['ns'], summary: 'Create a namespace', load: async () => (await config()).namespace },
    {
      name: 'poddisruptionbudget',
      aliases: ['pdb'],
      summary: 'Create a budget for disruptions of pods',
      load: async () => (await policy()).poddisruptionbudget,
    },
    {
      name: 'priorityclass',
      aliases: ['pc'],
      summary: 'Create a priority class',
      load: async () => (await policy()).priorityclass,
    },
    { name: 'quota', aliases: ['resourcequota'], summary: 'Create a quota', load: async () => (await policy()).quota },
    { name: 'role', summary: 'Create a role', load: async () => (await access()).role },
    { name: 'rolebinding', summary: 'Give subjects a role', load: async () => (await access()).rolebinding },
    { name: 'secret', summary: 'Create a secret', load: async () => (await config()).secret },
    { name: 'service', aliases: ['svc'], summary: 'Create a service', load: async () => (await networking()).service },
    {
      name: 'serviceaccount',
      aliases: ['sa'],
      summary: 'Create a service account',
      load: async () => (await config()).serviceaccount,
    },
    {
      name: 'token',
      summary: 'Request a token of a service account',
      load: async () => (await import('#cmd/orchctl/commands/create/token.js')).token,
    },
  ],
  options: {
    ...manifestOptions,
    ...managerOption(fieldManager),
    ...saveConfigOption,
  },
  run: (invocation) => createFromFiles(invocation),
};

async function createFromFiles(invocation: Invocation): Promise<number> {
  const { api, args, err, path, values } = invocation;
  if (!readsFiles(values)) {
    err.write('Error: must specify one of -f and -k\n\n');
    if (args.length > 0) throw new UsageError(`unknown command ${JSON.stringify(args.join(' '))}`);
    err.write(commandHelp(create, path));
    throw new SilentExit(1);
  }
  if (args.length > 0) throw new UsageError(`unknown command ${JSON.stringify(args.join(' '))}`);
  const directive = directiveOf(values.string('validate') ?? 'strict');
  const dryRun = dryRunOf(values);
  const manifests = await checkedManifests(invocation, directive);
  const print = await resultPrinter(invocation, dryRun);
  const errors: unknown[] = [];
  let count = 0;
  for (const { object, resource, namespace, source } of manifests) {
    if (!matchesSelector(object, values.string('selector'))) continue;
    count += 1;
    const target = collectionPath(resource, { namespace });
    const query = { ...writeQuery(values, dryRun), fieldValidation: directive };
    const body = values.bool('save-config') ? await withAppliedAnnotation(object, invocation) : object;
    try {
      const created = dryRun === 'client' ? body : await api.json<ApiObject>('POST', withQuery(target, query), body);
      print(created, 'created');
    } catch (error) {
      errors.push(withSource('creating', source, error));
    }
  }
  throwAll(errors);
  if (count === 0) throw new CommandError('no objects passed to create');
  return 0;
}
