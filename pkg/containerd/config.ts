/** The configuration files of a data directory's containerd. Pure. */

export interface ContainerdConfigInput {
  /** Absolute parent of root, state, socket and CNI configuration. */
  readonly dir: string;
  readonly socket: string;
  /** State directory; short, because sockets below it must fit into 107 bytes. */
  readonly stateDir: string;
  readonly sandboxImage: string;
  readonly cniBinDir: string;
  /** Set where the machine refuses a lower oom_score_adj. */
  readonly restrictOOMScoreAdj: boolean;
  readonly systemdCgroup: boolean;
}

/** Below the directory: the template of the network's configuration, which containerd fills with the pod ranges. */
export const cniTemplateFile = 'cni-template.conflist';
/** Below the directory: the network's configuration, which containerd writes. */
export const cniConfigFile = 'cni/10-containerd-net.conflist';

const quote = (text: string): string => JSON.stringify(text);

/** `config.toml`, version 2. */
export function containerdConfig(input: ContainerdConfigInput): string {
  return `version = 2
root = ${quote(`${input.dir}/root`)}
state = ${quote(input.stateDir)}
oom_score = 0

[grpc]
  address = ${quote(input.socket)}

[ttrpc]
  address = ${quote(`${input.socket}.ttrpc`)}

[plugins."io.containerd.internal.v1.opt"]
  path = ${quote(`${input.dir}/opt`)}

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${quote(input.sandboxImage)}
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  enable_selinux = false
  restrict_oom_score_adj = ${input.restrictOOMScoreAdj}
  max_concurrent_downloads = 3

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = ${quote(input.cniBinDir)}
    conf_dir = ${quote(`${input.dir}/cni`)}
    conf_template = ${quote(`${input.dir}/${cniTemplateFile}`)}

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = ${input.systemdCgroup}
`;
}

export interface CNIConfigInput {
  /** Network name: also the chain names of its address ranges. */
  readonly name: string;
  readonly bridge: string;
  /** Pod CIDR, such as `10.88.0.0/24`; absent: a template for ranges of one or both families. */
  readonly subnet?: string | undefined;
  /** Folder of host-local's leases. */
  readonly ipamDir: string;
}

/** Placeholders of JSON lists, in the language of containerd's templates. */
const rangesOfPods = '{{range $i, $range := .PodCIDRRanges}}{{if $i}}, {{end}}[{"subnet": "{{$range}}"}]{{end}}';
const routesOfPods = '{{range $i, $route := .Routes}}{{if $i}}, {{end}}{"dst": "{{$route}}"}{{end}}';

/** A bridge network with addresses of the pod CIDR, masquerading and host ports. */
export function cniConfig(input: CNIConfigInput): string {
  const list = {
    cniVersion: '0.4.0',
    name: input.name,
    plugins: [
      {
        type: 'bridge',
        bridge: input.bridge,
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          ranges: input.subnet === undefined ? ['RANGES'] : [[{ subnet: input.subnet }]],
          routes: input.subnet === undefined ? ['ROUTES'] : [{ dst: '0.0.0.0/0' }],
          dataDir: input.ipamDir,
        },
      },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ],
  };
  const text = `${JSON.stringify(list, null, 2)}\n`;
  if (input.subnet !== undefined) return text;
  return text.replace('"RANGES"', rangesOfPods).replace('"ROUTES"', routesOfPods);
}
