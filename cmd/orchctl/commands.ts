/** All commands, in the order of the overview. Each is imported when it runs. */
import type { CommandEntry } from '#cmd/orchctl/commands/command.js';

const show = 'Show and ask';
const change = 'Create and change';
const run = 'Run and debug';
const cluster = 'Cluster and nodes';
const tests = 'Test clusters';
const settings = 'Settings and help';

export const commands: readonly CommandEntry[] = [
  {
    name: 'get',
    section: show,
    summary: 'Show objects as a table, JSON or YAML',
    load: async () => (await import('#cmd/orchctl/commands/get/get.js')).get,
  },
  {
    name: 'describe',
    section: show,
    summary: 'Describe objects in detail, with their events',
    load: async () => (await import('#cmd/orchctl/commands/describe.js')).describe,
  },
  {
    name: 'why',
    section: show,
    summary: 'Explain what stops an object, or a request',
    load: async () => (await import('#cmd/orchctl/commands/why/why.js')).why,
  },
  {
    name: 'audit',
    section: show,
    summary: 'Search audit logs',
    load: async () => (await import('#cmd/orchctl/commands/audit/audit.js')).audit,
  },
  {
    name: 'apply',
    section: change,
    summary: 'Bring objects to the state in files',
    load: async () => (await import('#cmd/orchctl/commands/apply.js')).apply,
  },
  {
    name: 'create',
    section: change,
    summary: 'Create new objects',
    load: async () => (await import('#cmd/orchctl/commands/create/create.js')).create,
  },
  {
    name: 'delete',
    section: change,
    summary: 'Delete objects and wait until they are gone',
    load: async () => (await import('#cmd/orchctl/commands/delete.js')).deleteCommand,
  },
  {
    name: 'scale',
    section: change,
    summary: 'Set the number of replicas',
    load: async () => (await import('#cmd/orchctl/commands/scale.js')).scale,
  },
  {
    name: 'rollout',
    section: change,
    summary: 'Show and manage rollouts of deployments, stateful sets and daemon sets',
    load: async () => (await import('#cmd/orchctl/commands/rollout.js')).rollout,
  },
  {
    name: 'logs',
    section: run,
    summary: 'Print the logs of containers',
    load: async () => (await import('#cmd/orchctl/commands/logs.js')).logs,
  },
  {
    name: 'exec',
    section: run,
    summary: 'Run a program in a container',
    load: async () => (await import('#cmd/orchctl/commands/exec.js')).exec,
  },
  {
    name: 'attach',
    section: run,
    summary: 'Attach to a running container',
    load: async () => (await import('#cmd/orchctl/commands/exec.js')).attach,
  },
  {
    name: 'port-forward',
    section: run,
    summary: 'Forward local ports to ports of a pod',
    load: async () => (await import('#cmd/orchctl/commands/port-forward.js')).portForward,
  },
  {
    name: 'proxy',
    section: run,
    summary: 'Forward local requests to the API server with the credentials of the client configuration',
    load: async () => (await import('#cmd/orchctl/commands/proxy.js')).proxy,
  },
  {
    name: 'ui',
    section: show,
    summary: 'Show the cluster in the browser, with the credentials of the client configuration',
    load: async () => (await import('#cmd/orchctl/commands/ui.js')).ui,
  },
  {
    name: 'image',
    section: run,
    summary: 'Load images onto nodes',
    load: async () => (await import('#cmd/orchctl/commands/image.js')).image,
  },
  {
    name: 'codec',
    section: run,
    summary: 'Convert objects between JSON, YAML and Protobuf',
    load: async () => (await import('#cmd/orchctl/commands/codec.js')).codec,
  },
  {
    name: 'top',
    section: cluster,
    summary: 'Show CPU and memory usage of nodes or pods',
    load: async () => (await import('#cmd/orchctl/commands/top.js')).top,
  },
  {
    name: 'cordon',
    section: cluster,
    summary: 'Mark nodes as unschedulable',
    load: async () => (await import('#cmd/orchctl/commands/cordon.js')).cordon,
  },
  {
    name: 'uncordon',
    section: cluster,
    summary: 'Mark nodes as schedulable',
    load: async () => (await import('#cmd/orchctl/commands/cordon.js')).uncordon,
  },
  {
    name: 'drain',
    section: cluster,
    summary: 'Mark nodes as unschedulable and evict their pods',
    load: async () => (await import('#cmd/orchctl/commands/drain.js')).drain,
  },
  {
    name: 'token',
    section: cluster,
    summary: 'Manage the tokens with which machines join',
    load: async () => (await import('#cmd/orchctl/commands/token.js')).token,
  },
  {
    name: 'auth',
    section: show,
    summary: 'Say whether you may do something, what you may do, and who may do something',
    load: async () => (await import('#cmd/orchctl/commands/auth/auth.js')).auth,
  },
  {
    name: 'api-resources',
    section: cluster,
    summary: "List the server's resource types",
    load: async () => (await import('#cmd/orchctl/commands/server.js')).apiResources,
  },
  {
    name: 'clock',
    section: tests,
    summary: "Show and move a test cluster's clock",
    load: async () => (await import('#cmd/orchctl/commands/testing/clock.js')).clock,
  },
  {
    name: 'settle',
    section: tests,
    summary: 'Wait until a test cluster has nothing left to do at this time',
    load: async () => (await import('#cmd/orchctl/commands/testing/settle.js')).settle,
  },
  {
    name: 'snapshot',
    section: tests,
    summary: 'Save and restore the whole state of a test cluster',
    load: async () => (await import('#cmd/orchctl/commands/testing/snapshot.js')).snapshot,
  },
  {
    name: 'test',
    section: tests,
    summary: 'Show and change what happens in a test cluster',
    load: async () => (await import('#cmd/orchctl/commands/testing/test.js')).test,
  },
  {
    name: 'faults',
    section: tests,
    summary: 'Let a test cluster answer with errors, late, or not at all',
    load: async () => (await import('#cmd/orchctl/commands/testing/faults.js')).faults,
  },
  {
    name: 'version',
    section: settings,
    summary: 'Print the versions of client and server',
    load: async () => (await import('#cmd/orchctl/commands/server.js')).version,
  },
];
