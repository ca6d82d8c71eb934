import { defineTypes, inlined, message, optional, partialUnion, pointer, required, union } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ConfigMapProjection: message('Files with the values of a ConfigMap, as part of a projected volume.', {
      '~localObjectReference': inlined(1, 'LocalObjectReference'),
      items: optional(2, 'KeyToPath[]', 'Keys to show, and where. A listed key must exist. Default: each key as a file of its name.'),
      optional: pointer(4, 'bool', 'Lets the ConfigMap or its keys be absent. Default false.'),
    }),
    ConfigMapVolumeSource: message('Files with the values of a ConfigMap.', {
      '~localObjectReference': inlined(1, 'LocalObjectReference'),
      items: optional(2, 'KeyToPath[]', 'Keys to show, and where. A listed key must exist. Default: each key as a file of its name.'),
      defaultMode: pointer(3, 'int32', { minimum: 0, maximum: 0o777, default: 0o644 }, 'Permission bits of files that set none of their own, 0 to 511 (octal 0777). Default 420 (octal 0644).'),
      optional: pointer(4, 'bool', 'Lets the ConfigMap or its keys be absent. Default false.'),
    }),
    DownwardAPIProjection: message('Files with facts about the pod, as part of a projected volume.', {
      items: optional(1, 'DownwardAPIVolumeFile[]', 'The files.'),
    }),
    DownwardAPIVolumeFile: partialUnion('A file with a fact about the pod.', ['fieldRef', 'resourceFieldRef'], {
      path: required(1, 'string', 'Path of the file in the volume; relative and without `..`.'),
      fieldRef: pointer(2, 'ObjectFieldSelector', 'A field of the pod: its name, namespace, uid, labels or annotations.'),
      resourceFieldRef: pointer(3, 'ResourceFieldSelector', 'A resource limit or request of a container.'),
      mode: pointer(4, 'int32', { minimum: 0, maximum: 0o777 }, 'Permission bits of the file, 0 to 511 (octal 0777). Default: those of the volume.'),
    }),
    DownwardAPIVolumeSource: message('Files with facts about the pod.', {
      items: optional(1, 'DownwardAPIVolumeFile[]', 'The files.'),
      defaultMode: pointer(2, 'int32', { minimum: 0, maximum: 0o777, default: 0o644 }, 'Permission bits of files that set none of their own, 0 to 511 (octal 0777). Default 420 (octal 0644).'),
    }),
    KeyToPath: message('Shows a key as a file.', {
      key: required(1, 'string', 'Key to show.'),
      path: required(2, 'string', 'Path of the file in the volume; relative and without `..`.'),
      mode: pointer(3, 'int32', { minimum: 0, maximum: 0o777 }, 'Permission bits of the file, 0 to 511 (octal 0777). Default: those of the volume.'),
    }),
    ProjectedVolumeSource: message('Files of several sources in one directory.', {
      sources: optional(1, 'VolumeProjection[]', { omitempty: false }, 'The sources. No two may give the same path.'),
      defaultMode: pointer(2, 'int32', { minimum: 0, maximum: 0o777, default: 0o644 }, 'Permission bits of files that set none of their own, 0 to 511 (octal 0777). Default 420 (octal 0644).'),
    }),
    SecretProjection: message('Files with the values of a Secret, as part of a projected volume.', {
      '~localObjectReference': inlined(1, 'LocalObjectReference'),
      items: optional(2, 'KeyToPath[]', 'Keys to show, and where. A listed key must exist. Default: each key as a file of its name.'),
      optional: pointer(4, 'bool', 'Lets the Secret or its keys be absent. Default false.'),
    }),
    SecretVolumeSource: message('Files with the values of a Secret.', {
      secretName: optional(1, 'string', "Name of the Secret, in the pod's namespace."),
      items: optional(2, 'KeyToPath[]', 'Keys to show, and where. A listed key must exist. Default: each key as a file of its name.'),
      defaultMode: pointer(3, 'int32', { minimum: 0, maximum: 0o777, default: 0o644 }, 'Permission bits of files that set none of their own, 0 to 511 (octal 0777). Default 420 (octal 0644).'),
      optional: pointer(4, 'bool', 'Lets the Secret or its keys be absent. Default false.'),
    }),
    ServiceAccountTokenProjection: message("A file with a token of the pod's service account, renewed in time.", {
      audience: optional(1, 'string', 'Who the token is meant for. Default: the API server.'),
      expirationSeconds: pointer(2, 'int64', { minimum: 600, maximum: 4294967296, default: 3600 }, 'Seconds that a token is valid; it is renewed once 80 percent are over. Default 3600, minimum 600, maximum 4294967296.'),
      path: required(3, 'string', 'Path of the file in the volume; relative and without `..`.'),
    }),
    VolumeProjection: union('One source of a projected volume.', {
      secret: pointer(1, 'SecretProjection', 'Files with the values of a Secret.'),
      downwardAPI: pointer(2, 'DownwardAPIProjection', 'Files with facts about the pod.'),
      configMap: pointer(3, 'ConfigMapProjection', 'Files with the values of a ConfigMap.'),
      serviceAccountToken: pointer(4, 'ServiceAccountTokenProjection', "A file with a token of the pod's service account."),
    }),
  },
});
