/** Converts the interface's types to the protocol's messages, where they differ. */
import type {
  ContainerConfig,
  ContainerFilter,
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  PodSandboxConfig,
  PodSandboxFilter,
} from '#nodeagent/cri/cri.js';
import type { Message } from '#nodeagent/grpc/channel.js';

/** Drops undefined members, since the encoder treats a present key as a present field. */
function compact(value: Message): Message {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined));
}

const wrap = (value: number | undefined): { value: number } | undefined =>
  value === undefined ? undefined : { value };

function securityContext(context: LinuxSandboxSecurityContext | LinuxContainerSecurityContext): Message {
  return compact({ ...context, runAsUser: wrap(context.runAsUser), runAsGroup: wrap(context.runAsGroup) });
}

export function encodeSandboxConfig(config: PodSandboxConfig): Message {
  return compact({
    ...config,
    linux: compact({ ...config.linux, securityContext: securityContext(config.linux.securityContext) }),
  });
}

export function encodeContainerConfig(config: ContainerConfig): Message {
  return compact({
    ...config,
    image: { image: config.image },
    linux: {
      resources: compact({ ...config.linux.resources }),
      securityContext: securityContext(config.linux.securityContext),
    },
  });
}

export function encodeFilter(filter: PodSandboxFilter | ContainerFilter | undefined): Message {
  if (filter === undefined) return {};
  const { state, ...rest } = filter;
  return { filter: compact({ ...rest, ...(state === undefined ? {} : { state: { state } }) }) };
}
