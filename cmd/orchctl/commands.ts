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
    name: 'events',
    section: show,
    summary: 'List events, the newest last',
    load: async () => (await import('#cmd/orchctl/commands/events.js')).events,
  },
  {
    name: 'explain',
    section: show,
    summary: 'Describe the fields of a kind',
    load: async () => (await import('#cmd/orchctl/commands/explain.js')).explain,
  },
  {
    name: 'diff',
    section: show,
    summary: 'Show what an apply of files would change',
    load: async () => (await import('#cmd/orchctl/commands/apply/diff.js')).diff,
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
    load: async () => (await import('#cmd/orchctl/commands/apply/apply.js')).apply,
  },
  {
    name: 'replace',
    section: change,
    summary: 'Replace objects by those in files',
    load: async () => (await import('#cmd/orchctl/commands/change/replace.js')).replace,
  },
  {
    name: 'edit',
    section: change,
    summary: 'Edit objects in your editor',
    load: async () => (await import('#cmd/orchctl/commands/edit/edit.js')).edit,
  },
  {
    name: 'create',
    section: change,
    summary: 'Create new objects',
    load: async () => (await import('#cmd/orchctl/commands/create/create.js')).create,
  },
  {
    name: 'run',
    section: change,
    summary: 'Run an image in a pod',
    load: async () => (await import('#cmd/orchctl/commands/run/run-pod.js')).runPod,
  },
  {
    name: 'expose',
    section: change,
    summary: 'Create a service for a deployment, replica set, replication controller, service or pod',
    load: async () => (await import('#cmd/orchctl/commands/change/expose.js')).expose,
  },
  {
    name: 'set',
    section: change,
    summary: 'Set images, variables, requests and limits, selectors, service accounts or subjects',
    load: async () => (await import('#cmd/orchctl/commands/set/set.js')).set,
  },
  {
    name: 'patch',
    section: change,
    summary: 'Change fields of objects by a patch',
    load: async () => (await import('#cmd/orchctl/commands/change/patch.js')).patch,
  },
  {
    name: 'label',
    section: change,
    summary: 'Set and remove labels',
    load: async () => (await import('#cmd/orchctl/commands/change/label.js')).label,
  },
  {
    name: 'annotate',
    section: change,
    summary: 'Set and remove annotations',
    load: async () => (await import('#cmd/orchctl/commands/change/label.js')).annotate,
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
    load: async () => (await import('#cmd/orchctl/commands/change/scale.js')).scale,
  },
  {
    name: 'autoscale',
    section: change,
    summary: 'Let the number of pods follow their load',
    load: async () => (await import('#cmd/orchctl/commands/change/autoscale.js')).autoscale,
  },
  {
    name: 'rollout',
    section: change,
    summary: 'Show and manage rollouts of deployments, stateful sets and daemon sets',
    load: async () => (await import('#cmd/orchctl/commands/rollout/rollout.js')).rollout,
  },
  {
    name: 'logs',
    section: run,
    summary: 'Print the logs of containers',
    load: async () => (await import('#cmd/orchctl/commands/logs.js')).logs,
  },
  {
    name: 'wait',
    section: run,
    summary: 'Wait until objects are gone, or have a condition or a value',
    load: async () => (await import('#cmd/orchctl/commands/wait.js')).wait,
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
    name: 'cp',
    section: run,
    summary: 'Copy files and folders to and from containers',
    load: async () => (await import('#cmd/orchctl/commands/cp.js')).cp,
  },
  {
    name: 'debug',
    section: run,
    summary: 'Look for faults with a container in a pod, a copy of a pod, or a pod on a node',
    load: async () => (await import('#cmd/orchctl/commands/debug/debug.js')).debug,
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
    name: 'taint',
    section: cluster,
    summary: 'Set and remove taints of nodes',
    load: async () => (await import('#cmd/orchctl/commands/change/taint.js')).taint,
  },
  {
    name: 'token',
    section: cluster,
    summary: 'Manage the tokens with which machines join',
    load: async () => (await import('#cmd/orchctl/commands/token.js')).token,
  },
  {
    name: 'certificate',
    section: cluster,
    summary: 'Approve and deny certificate signing requests',
    load: async () => (await import('#cmd/orchctl/commands/certificate.js')).certificate,
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
    name: 'api-versions',
    section: cluster,
    summary: "List the server's API versions",
    load: async () => (await import('#cmd/orchctl/commands/server.js')).apiVersions,
  },
  {
    name: 'cluster-info',
    section: cluster,
    summary: 'Show the addresses of the cluster',
    load: async () => (await import('#cmd/orchctl/commands/cluster-info.js')).clusterInfo,
  },
  {
    name: 'version',
    section: settings,
    summary: 'Print the versions of client and server',
    load: async () => (await import('#cmd/orchctl/commands/server.js')).version,
  },
  {
    name: 'config',
    section: settings,
    summary: 'Show and change client configuration files',
    load: async () => (await import('#cmd/orchctl/commands/config/config.js')).config,
  },
  {
    name: 'completion',
    section: settings,
    summary: 'Print the script with which a shell completes command lines',
    load: async () => (await import('#cmd/orchctl/commands/completion/completion.js')).completion,
  },
  {
    name: 'options',
    section: settings,
    summary: 'List the flags that all commands take',
    load: async () => (await import('#cmd/orchctl/commands/options-list.js')).optionsList,
  },
];
