/** `create deployment`, `job` and `cronjob`. */
import type { ApiObject } from '#client/client.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { builderCommand, newMetadata } from '#cmd/orchctl/commands/create/builder.js';
import { select } from '#cmd/orchctl/commands/selection.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';
import { uniqueSuffix } from '#cmd/orchctl/terminal/random.js';
import type { OptionTable } from '#daemon/options/option.js';

const imageOption = {
  image: { type: 'string', section: 'Content', meaning: 'Image of the container.' },
} as const satisfies OptionTable;

/** A container as release 1.24 prints it. */
function container(name: string, image: string, command: readonly string[], more: object = {}): object {
  return { name, image, ...(command.length === 0 ? {} : { command }), ...more, resources: {} };
}

/** The arguments behind `--`. */
const commandOf = ({ trailing }: Invocation): readonly string[] => trailing;

function required({ values }: Invocation, ...names: readonly string[]): void {
  const missing = names.filter((name) => !values.isSet(name)).map((name) => JSON.stringify(name));
  if (missing.length > 0) throw new CommandError(`required flag(s) ${missing.join(', ')} not set`);
}

export const deployment = builderCommand({
  name: 'deployment',
  aliases: ['deploy'],
  usage: 'NAME --image IMAGE [-- COMMAND [ARG…]]',
  summary: 'Create a deployment',
  examples: [
    'orchctl create deployment web --image=nginx --replicas=3',
    'orchctl create deployment web --image=nginx --port=80 --dry-run=client -o yaml',
  ],
  failure: 'failed to create deployment: ',
  options: {
    image: { type: 'strings', section: 'Content', meaning: 'Image of a container; may be repeated.' },
    port: { type: 'int', default: -1, section: 'Content', meaning: 'Port that the container listens on.' },
    replicas: { type: 'int', shorthand: 'r', default: 1, section: 'Content', meaning: 'Number of pods.' },
  },
  build(invocation, name) {
    required(invocation, 'image');
    const { values } = invocation;
    const images = values.strings('image');
    const command = commandOf(invocation);
    if (images.length > 1 && command.length > 0) {
      throw new CommandError('cannot specify multiple --image options and command');
    }
    const labels = { app: name };
    const port = values.number('port');
    const ports = port >= 0 ? { ports: [{ containerPort: port }] } : {};
    const containers = images.map((image, i) => container(nameOfImage(image), image, command, i === 0 ? ports : {}));
    return {
      kind: 'Deployment',
      apiVersion: 'apps/v1',
      metadata: newMetadata(name, { labels }),
      spec: {
        replicas: values.number('replicas'),
        selector: { matchLabels: labels },
        template: { metadata: newMetadata(undefined, { labels }), spec: { containers } },
        strategy: {},
      },
      status: {},
    } as ApiObject;
  },
});

/** The last part of the image's name; characters that names of containers lack make it unique. */
function nameOfImage(image: string): string {
  const name = (image.split('/').at(-1) ?? '').split(':')[0]?.split('@')[0] ?? '';
  return /[_.]/.test(name) ? `${name.replaceAll(/[_.]/g, '-')}-${uniqueSuffix()}` : name;
}

export const job = builderCommand({
  name: 'job',
  usage: 'NAME (--image IMAGE | --from cronjob/NAME) [-- COMMAND [ARG…]]',
  summary: 'Create a job',
  examples: ['orchctl create job once --image=busybox -- date', 'orchctl create job now --from=cronjob/nightly'],
  failure: 'failed to create job: ',
  options: {
    ...imageOption,
    from: { type: 'string', section: 'Content', meaning: 'The cron job whose job to run now: cronjob/NAME.' },
  },
  async build(invocation, name) {
    const { values } = invocation;
    const image = values.string('image') ?? '';
    const from = values.string('from') ?? '';
    const command = commandOf(invocation);
    if ((image === '') === (from === '')) throw new CommandError('either --image or --from must be specified');
    if (command.length > 0 && from !== '') throw new CommandError('cannot specify --from and command');
    if (from !== '') return jobOf(invocation, name, from);
    const spec = { containers: [container(name, image, command)], restartPolicy: 'Never' };
    return {
      kind: 'Job',
      apiVersion: 'batch/v1',
      metadata: newMetadata(name),
      spec: { template: { metadata: newMetadata(undefined), spec } },
      status: {},
    } as ApiObject;
  },
});

interface CronJobLike extends ApiObject {
  readonly spec?: { readonly jobTemplate?: { readonly metadata?: ApiObject['metadata']; readonly spec?: object } };
}

async function jobOf(invocation: Invocation, name: string, from: string): Promise<ApiObject> {
  const { infos, errors } = await select(invocation, { args: [from] });
  if (errors.length > 0) throw errors[0];
  const [info] = infos;
  if (info === undefined || infos.length !== 1) throw new CommandError('from must be an existing cronjob');
  const { dialect } = await invocation.api.catalog();
  const owner = info.object as CronJobLike;
  if (owner.kind !== 'CronJob') throw new CommandError(`unknown object type *v1.${owner.kind ?? ''}`);
  const template = owner.spec?.jobTemplate;
  const labels = template?.metadata?.labels;
  return {
    kind: 'Job',
    apiVersion: 'batch/v1',
    metadata: newMetadata(name, {
      ...(labels === undefined ? {} : { labels }),
      annotations: {
        [`cronjob.${dialect.labelDomain}/instantiate`]: 'manual',
        ...template?.metadata?.annotations,
      },
      ownerReferences: [
        { apiVersion: 'batch/v1', kind: 'CronJob', name: owner.metadata.name ?? '', uid: owner.metadata.uid ?? '' },
      ],
    }),
    spec: template?.spec ?? {},
    status: {},
  } as ApiObject;
}

export const cronjob = builderCommand({
  name: 'cronjob',
  aliases: ['cj'],
  usage: "NAME --image IMAGE --schedule 'MINUTE HOUR DAY MONTH WEEKDAY' [-- COMMAND [ARG…]]",
  summary: 'Create a cron job',
  examples: ['orchctl create cronjob nightly --image=busybox --schedule="0 3 * * *" -- date'],
  failure: 'failed to create cronjob: ',
  options: {
    ...imageOption,
    schedule: { type: 'string', section: 'Content', meaning: 'When its jobs run, in the form of cron.' },
    restart: {
      type: 'string',
      default: 'OnFailure',
      section: 'Content',
      meaning: 'Restart policy of its pods: OnFailure or Never.',
    },
  },
  build(invocation, name) {
    required(invocation, 'image', 'schedule');
    const { values } = invocation;
    const restart = values.string('restart') ?? '';
    const containers = [container(name, values.string('image') ?? '', commandOf(invocation))];
    const template = {
      metadata: newMetadata(undefined),
      spec: { containers, ...(restart === '' ? {} : { restartPolicy: restart }) },
    };
    if ((values.string('schedule') ?? '') === '') throw new UsageError('--schedule must not be empty');
    return {
      kind: 'CronJob',
      apiVersion: 'batch/v1',
      metadata: newMetadata(name),
      spec: {
        schedule: values.string('schedule'),
        jobTemplate: { metadata: newMetadata(name), spec: { template } },
      },
      status: {},
    } as ApiObject;
  },
});
