import { defineTypes, message, optional, pointer, required, union } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Capabilities: message('Linux capabilities to add to and to take from what the runtime grants a container by default.', {
      add: optional(1, 'string[]', 'Capabilities to add, such as `NET_ADMIN`.'),
      drop: optional(2, 'string[]', 'Capabilities to take away; `ALL` takes all.'),
    }),
    PodSecurityContext: message('Security settings of all containers of a pod, and of the pod itself.', {
      seLinuxOptions: pointer(1, 'SELinuxOptions', 'SELinux context of the containers. Default: one per container that the runtime picks. Not on Windows.'),
      windowsOptions: pointer(8, 'WindowsSecurityContextOptions', 'Settings for Windows. Not on Linux.'),
      runAsUser: pointer(2, 'int64', { minimum: 0, maximum: 2147483647 }, "Numeric id of the user to run as. Default: the image's user. Not on Windows."),
      runAsGroup: pointer(6, 'int64', { minimum: 0, maximum: 2147483647 }, "Numeric id of the primary group to run as. Default: the runtime's choice. Not on Windows."),
      runAsNonRoot: pointer(3, 'bool', 'Refuses to start containers as user 0. Default false.'),
      supplementalGroups: optional(4, 'int64[]', 'Further groups of the first process in each container. Not on Windows.'),
      fsGroup: pointer(5, 'int64', { minimum: 0, maximum: 2147483647 }, 'Group that owns the files of volumes that support it; new files get it too, and it may read and write. Default: nothing is changed. Not on Windows.'),
      sysctls: optional(7, 'Sysctl[]', "Kernel settings in the pod's namespaces. Unsafe ones must be allowed on the node. Not on Windows."),
      fsGroupChangePolicy: pointer(9, 'string', { enum: 'PodFSGroupChangePolicy' }, '`Always` sets owner and mode of all files at each mount, `OnRootMismatch` only where the root of the volume differs. Default `Always`. Not on Windows.'),
      seccompProfile: pointer(10, 'SeccompProfile', 'Filter of system calls for the containers. Not on Windows.'),
    }),
    SELinuxOptions: message('An SELinux context.', {
      user: optional(1, 'string', 'SELinux user.'),
      role: optional(2, 'string', 'SELinux role.'),
      type: optional(3, 'string', 'SELinux type.'),
      level: optional(4, 'string', 'SELinux level.'),
    }),
    SeccompProfile: union('A filter of system calls.', {
      type: required(1, 'string', { enum: 'SeccompProfileType', discriminator: 'inSchema' }, "`RuntimeDefault`: the runtime's own filter. `Localhost`: a file on the node. `Unconfined`: none."),
      localhostProfile: pointer(2, 'string', "Path of the filter below the node agent's directory of filters. Required for, and only for, `Localhost`."),
    }),
    SecurityContext: message('Security settings of one container.', {
      capabilities: pointer(1, 'Capabilities', 'Linux capabilities to add and drop. Not on Windows.'),
      privileged: pointer(2, 'bool', 'Gives the container nearly all rights of root on the node. Default false. Not on Windows.'),
      seLinuxOptions: pointer(3, 'SELinuxOptions', 'SELinux context of the container. Default: one that the runtime picks. Not on Windows.'),
      windowsOptions: pointer(10, 'WindowsSecurityContextOptions', 'Settings for Windows. Not on Linux.'),
      runAsUser: pointer(4, 'int64', { minimum: 0, maximum: 2147483647 }, "Numeric id of the user to run as. Default: the image's user. Not on Windows."),
      runAsGroup: pointer(8, 'int64', { minimum: 0, maximum: 2147483647 }, "Numeric id of the primary group to run as. Default: the runtime's choice. Not on Windows."),
      runAsNonRoot: pointer(5, 'bool', 'Refuses to start the container as user 0. Default false.'),
      readOnlyRootFilesystem: pointer(6, 'bool', "Makes the container's own file system read-only. Default false. Not on Windows."),
      allowPrivilegeEscalation: pointer(7, 'bool', 'Lets a process gain more rights than its parent has, as setuid programs do. Always so for privileged containers and those with `SYS_ADMIN`. Default true. Not on Windows.'),
      procMount: pointer(9, 'string', { enum: 'ProcMountType', featureGate: 'ProcMountType', whileOff: 'Default' }, 'How `/proc` is presented: `Default` hides what the runtime usually hides, `Unmasked` shows all of it. Not on Windows.'),
      seccompProfile: pointer(11, 'SeccompProfile', 'Filter of system calls for the container. Not on Windows.'),
    }),
    Sysctl: message('A kernel setting.', {
      name: required(1, 'string', 'Name of the setting, such as `net.ipv4.ip_local_port_range`.'),
      value: required(2, 'string', 'Value of the setting.'),
    }),
    WindowsSecurityContextOptions: message('Security settings for Windows.', {
      gmsaCredentialSpecName: pointer(1, 'string', 'Name of the group managed service account to use.'),
      gmsaCredentialSpec: pointer(2, 'string', 'Specification of that account. Filled in from its name on admission.'),
      runAsUserName: pointer(3, 'string', "User to run as. Default: the image's user."),
      hostProcess: pointer(4, 'bool', { featureGate: 'AltOSHostProcessContainers' }, 'Runs the containers as processes of the node. All containers of a pod must agree, and `hostNetwork` is needed. Default false.'),
    }),
  },
  enums: {
    PodFSGroupChangePolicy: ['Always', 'OnRootMismatch'],
    ProcMountType: ['Default', 'Unmasked'],
    SeccompProfileType: ['Localhost', 'RuntimeDefault', 'Unconfined'],
  },
});
