/**
 * Messages and methods of CRI runtime.v1, in the form that Root.fromJSON of protobufjs takes; with fields of later releases
 * that runtimes of this one's time send already. A field that a runtime sends and this lacks fails a test.
 */
import type { INamespace } from 'protobufjs';

export const runtimeV1Descriptor = {
 "nested": {
  "runtime": {
   "nested": {
    "v1": {
     "nested": {
      "RuntimeService": {
       "methods": {
        "Version": {
         "requestType": "VersionRequest",
         "responseType": "VersionResponse"
        },
        "RunPodSandbox": {
         "requestType": "RunPodSandboxRequest",
         "responseType": "RunPodSandboxResponse"
        },
        "StopPodSandbox": {
         "requestType": "StopPodSandboxRequest",
         "responseType": "StopPodSandboxResponse"
        },
        "RemovePodSandbox": {
         "requestType": "RemovePodSandboxRequest",
         "responseType": "RemovePodSandboxResponse"
        },
        "PodSandboxStatus": {
         "requestType": "PodSandboxStatusRequest",
         "responseType": "PodSandboxStatusResponse"
        },
        "ListPodSandbox": {
         "requestType": "ListPodSandboxRequest",
         "responseType": "ListPodSandboxResponse"
        },
        "CreateContainer": {
         "requestType": "CreateContainerRequest",
         "responseType": "CreateContainerResponse"
        },
        "StartContainer": {
         "requestType": "StartContainerRequest",
         "responseType": "StartContainerResponse"
        },
        "StopContainer": {
         "requestType": "StopContainerRequest",
         "responseType": "StopContainerResponse"
        },
        "RemoveContainer": {
         "requestType": "RemoveContainerRequest",
         "responseType": "RemoveContainerResponse"
        },
        "ListContainers": {
         "requestType": "ListContainersRequest",
         "responseType": "ListContainersResponse"
        },
        "ContainerStatus": {
         "requestType": "ContainerStatusRequest",
         "responseType": "ContainerStatusResponse"
        },
        "UpdateContainerResources": {
         "requestType": "UpdateContainerResourcesRequest",
         "responseType": "UpdateContainerResourcesResponse"
        },
        "ReopenContainerLog": {
         "requestType": "ReopenContainerLogRequest",
         "responseType": "ReopenContainerLogResponse"
        },
        "ExecSync": {
         "requestType": "ExecSyncRequest",
         "responseType": "ExecSyncResponse"
        },
        "Exec": {
         "requestType": "ExecRequest",
         "responseType": "ExecResponse"
        },
        "Attach": {
         "requestType": "AttachRequest",
         "responseType": "AttachResponse"
        },
        "PortForward": {
         "requestType": "PortForwardRequest",
         "responseType": "PortForwardResponse"
        },
        "ContainerStats": {
         "requestType": "ContainerStatsRequest",
         "responseType": "ContainerStatsResponse"
        },
        "ListContainerStats": {
         "requestType": "ListContainerStatsRequest",
         "responseType": "ListContainerStatsResponse"
        },
        "PodSandboxStats": {
         "requestType": "PodSandboxStatsRequest",
         "responseType": "PodSandboxStatsResponse"
        },
        "ListPodSandboxStats": {
         "requestType": "ListPodSandboxStatsRequest",
         "responseType": "ListPodSandboxStatsResponse"
        },
        "UpdateRuntimeConfig": {
         "requestType": "UpdateRuntimeConfigRequest",
         "responseType": "UpdateRuntimeConfigResponse"
        },
        "Status": {
         "requestType": "StatusRequest",
         "responseType": "StatusResponse"
        }
       }
      },
      "ImageService": {
       "methods": {
        "ListImages": {
         "requestType": "ListImagesRequest",
         "responseType": "ListImagesResponse"
        },
        "ImageStatus": {
         "requestType": "ImageStatusRequest",
         "responseType": "ImageStatusResponse"
        },
        "PullImage": {
         "requestType": "PullImageRequest",
         "responseType": "PullImageResponse"
        },
        "RemoveImage": {
         "requestType": "RemoveImageRequest",
         "responseType": "RemoveImageResponse"
        },
        "ImageFsInfo": {
         "requestType": "ImageFsInfoRequest",
         "responseType": "ImageFsInfoResponse"
        }
       }
      },
      "VersionRequest": {
       "fields": {
        "version": {
         "type": "string",
         "id": 1
        }
       }
      },
      "VersionResponse": {
       "fields": {
        "version": {
         "type": "string",
         "id": 1
        },
        "runtimeName": {
         "type": "string",
         "id": 2
        },
        "runtimeVersion": {
         "type": "string",
         "id": 3
        },
        "runtimeApiVersion": {
         "type": "string",
         "id": 4
        }
       }
      },
      "DNSConfig": {
       "fields": {
        "servers": {
         "rule": "repeated",
         "type": "string",
         "id": 1
        },
        "searches": {
         "rule": "repeated",
         "type": "string",
         "id": 2
        },
        "options": {
         "rule": "repeated",
         "type": "string",
         "id": 3
        }
       }
      },
      "Protocol": {
       "values": {
        "TCP": 0,
        "UDP": 1,
        "SCTP": 2
       }
      },
      "PortMapping": {
       "fields": {
        "protocol": {
         "type": "Protocol",
         "id": 1
        },
        "containerPort": {
         "type": "int32",
         "id": 2
        },
        "hostPort": {
         "type": "int32",
         "id": 3
        },
        "hostIp": {
         "type": "string",
         "id": 4
        }
       }
      },
      "MountPropagation": {
       "values": {
        "PROPAGATION_PRIVATE": 0,
        "PROPAGATION_HOST_TO_CONTAINER": 1,
        "PROPAGATION_BIDIRECTIONAL": 2
       }
      },
      "Mount": {
       "fields": {
        "containerPath": {
         "type": "string",
         "id": 1
        },
        "hostPath": {
         "type": "string",
         "id": 2
        },
        "readonly": {
         "type": "bool",
         "id": 3
        },
        "selinuxRelabel": {
         "type": "bool",
         "id": 4
        },
        "propagation": {
         "type": "MountPropagation",
         "id": 5
        }
       }
      },
      "NamespaceMode": {
       "values": {
        "POD": 0,
        "CONTAINER": 1,
        "NODE": 2,
        "TARGET": 3
       }
      },
      "NamespaceOption": {
       "fields": {
        "network": {
         "type": "NamespaceMode",
         "id": 1
        },
        "pid": {
         "type": "NamespaceMode",
         "id": 2
        },
        "ipc": {
         "type": "NamespaceMode",
         "id": 3
        },
        "targetId": {
         "type": "string",
         "id": 4
        }
       }
      },
      "Int64Value": {
       "fields": {
        "value": {
         "type": "int64",
         "id": 1
        }
       }
      },
      "LinuxSandboxSecurityContext": {
       "fields": {
        "namespaceOptions": {
         "type": "NamespaceOption",
         "id": 1
        },
        "selinuxOptions": {
         "type": "SELinuxOption",
         "id": 2
        },
        "runAsUser": {
         "type": "Int64Value",
         "id": 3
        },
        "runAsGroup": {
         "type": "Int64Value",
         "id": 8
        },
        "readonlyRootfs": {
         "type": "bool",
         "id": 4
        },
        "supplementalGroups": {
         "rule": "repeated",
         "type": "int64",
         "id": 5
        },
        "privileged": {
         "type": "bool",
         "id": 6
        },
        "seccomp": {
         "type": "SecurityProfile",
         "id": 9
        },
        "apparmor": {
         "type": "SecurityProfile",
         "id": 10
        },
        "seccompProfilePath": {
         "type": "string",
         "id": 7,
         "options": {
          "deprecated": true
         }
        }
       }
      },
      "SecurityProfile": {
       "fields": {
        "profileType": {
         "type": "ProfileType",
         "id": 1
        },
        "localhostRef": {
         "type": "string",
         "id": 2
        }
       },
       "nested": {
        "ProfileType": {
         "values": {
          "RuntimeDefault": 0,
          "Unconfined": 1,
          "Localhost": 2
         }
        }
       }
      },
      "LinuxPodSandboxConfig": {
       "fields": {
        "cgroupParent": {
         "type": "string",
         "id": 1
        },
        "securityContext": {
         "type": "LinuxSandboxSecurityContext",
         "id": 2
        },
        "sysctls": {
         "keyType": "string",
         "type": "string",
         "id": 3
        },
        "overhead": {
         "type": "LinuxContainerResources",
         "id": 4
        },
        "resources": {
         "type": "LinuxContainerResources",
         "id": 5
        }
       }
      },
      "PodSandboxMetadata": {
       "fields": {
        "name": {
         "type": "string",
         "id": 1
        },
        "uid": {
         "type": "string",
         "id": 2
        },
        "namespace": {
         "type": "string",
         "id": 3
        },
        "attempt": {
         "type": "uint32",
         "id": 4
        }
       }
      },
      "PodSandboxConfig": {
       "fields": {
        "metadata": {
         "type": "PodSandboxMetadata",
         "id": 1
        },
        "hostname": {
         "type": "string",
         "id": 2
        },
        "logDirectory": {
         "type": "string",
         "id": 3
        },
        "dnsConfig": {
         "type": "DNSConfig",
         "id": 4
        },
        "portMappings": {
         "rule": "repeated",
         "type": "PortMapping",
         "id": 5
        },
        "labels": {
         "keyType": "string",
         "type": "string",
         "id": 6
        },
        "annotations": {
         "keyType": "string",
         "type": "string",
         "id": 7
        },
        "linux": {
         "type": "LinuxPodSandboxConfig",
         "id": 8
        },
        "windows": {
         "type": "WindowsPodSandboxConfig",
         "id": 9
        }
       }
      },
      "RunPodSandboxRequest": {
       "fields": {
        "config": {
         "type": "PodSandboxConfig",
         "id": 1
        },
        "runtimeHandler": {
         "type": "string",
         "id": 2
        }
       }
      },
      "RunPodSandboxResponse": {
       "fields": {
        "podSandboxId": {
         "type": "string",
         "id": 1
        }
       }
      },
      "StopPodSandboxRequest": {
       "fields": {
        "podSandboxId": {
         "type": "string",
         "id": 1
        }
       }
      },
      "StopPodSandboxResponse": {
       "fields": {}
      },
      "RemovePodSandboxRequest": {
       "fields": {
        "podSandboxId": {
         "type": "string",
         "id": 1
        }
       }
      },
      "RemovePodSandboxResponse": {
       "fields": {}
      },
      "PodSandboxStatusRequest": {
       "fields": {
        "podSandboxId": {
         "type": "string",
         "id": 1
        },
        "verbose": {
         "type": "bool",
         "id": 2
        }
       }
      },
      "PodIP": {
       "fields": {
        "ip": {
         "type": "string",
         "id": 1
        }
       }
      },
      "PodSandboxNetworkStatus": {
       "fields": {
        "ip": {
         "type": "string",
         "id": 1
        },
        "additionalIps": {
         "rule": "repeated",
         "type": "PodIP",
         "id": 2
        }
       }
      },
      "Namespace": {
       "fields": {
        "options": {
         "type": "NamespaceOption",
         "id": 2
        }
       }
      },
      "LinuxPodSandboxStatus": {
       "fields": {
        "namespaces": {
         "type": "Namespace",
         "id": 1
        }
       }
      },
      "PodSandboxState": {
       "values": {
        "SANDBOX_READY": 0,
        "SANDBOX_NOTREADY": 1
       }
      },
      "PodSandboxStatus": {
       "fields": {
        "id": {
         "type": "string",
         "id": 1
        },
        "metadata": {
         "type": "PodSandboxMetadata",
         "id": 2
        },
        "state": {
         "type": "PodSandboxState",
         "id": 3
        },
        "createdAt": {
         "type": "int64",
         "id": 4
        },
        "network": {
         "type": "PodSandboxNetworkStatus",
         "id": 5
        },
        "linux": {
         "type": "LinuxPodSandboxStatus",
         "id": 6
        },
        "labels": {
         "keyType": "string",
         "type": "string",
         "id": 7
        },
        "annotations": {
         "keyType": "string",
         "type": "string",
         "id": 8
        },
        "runtimeHandler": {
         "type": "string",
         "id": 9
        }
       }
      },
      "PodSandboxStatusResponse": {
       "fields": {
        "status": {
         "type": "PodSandboxStatus",
         "id": 1
        },
        "info": {
         "keyType": "string",
         "type": "string",
         "id": 2
        }
       }
      },
      "PodSandboxStateValue": {
       "fields": {
        "state": {
         "type": "PodSandboxState",
         "id": 1
        }
       }
      },
      "PodSandboxFilter": {
       "fields": {
        "id": {
         "type": "string",
         "id": 1
        },
        "state": {
         "type": "PodSandboxStateValue",
         "id": 2
        },
        "labelSelector": {
         "keyType": "string",
         "type": "string",
         "id": 3
        }
       }
      },
      "ListPodSandboxRequest": {
       "fields": {
        "filter": {
         "type": "PodSandboxFilter",
         "id": 1
        }
       }
      },
      "PodSandbox": {
       "fields": {
        "id": {
         "type": "string",
         "id": 1
        },
        "metadata": {
         "type": "PodSandboxMetadata",
         "id": 2
        },
        "state": {
         "type": "PodSandboxState",
         "id": 3
        },
        "createdAt": {
         "type": "int64",
         "id": 4
        },
        "labels": {
         "keyType": "string",
         "type": "string",
         "id": 5
        },
        "annotations": {
         "keyType": "string",
         "type": "string",
         "id": 6
        },
        "runtimeHandler": {
         "type": "string",
         "id": 7
        }
       }
      },
      "ListPodSandboxResponse": {
       "fields": {
        "items": {
         "rule": "repeated",
         "type": "PodSandbox",
         "id": 1
        }
       }
      },
      "PodSandboxStatsRequest": {
       "fields": {
        "podSandboxId": {
         "type": "string",
         "id": 1
        }
       }
      },
      "PodSandboxStatsResponse": {
       "fields": {
        "stats": {
         "type": "PodSandboxStats",
         "id": 1
        }
       }
      },
      "PodSandboxStatsFilter": {
       "fields": {
        "id": {
         "type": "string",
         "id": 1
        },
        "labelSelector": {
         "keyType": "string",
         "type": "string",
         "id": 2
        }
       }
      },
      "ListPodSandboxStatsRequest": {
       "fields": {
        "filter": {
         "type": "PodSandboxStatsFilter",
         "id": 1
        }
       }
      },
      "ListPodSandboxStatsResponse": {
       "fields": {
        "stats": {
         "rule": "repeated",
         "type": "PodSandboxStats",
         "id": 1
        }
       }
      },
      "PodSandboxAttributes": {
       "fields": {
        "id": {
         "type": "string",
         "id": 1
        },
        "metadata": {
         "type": "PodSandboxMetadata",
         "id": 2
        },
        "labels": {
         "keyType": "string",
         "type": "string",
         "id": 3
        },
        "annotations": {
         "keyType": "string",
         "type": "string",
         "id": 4
        }
       }
      },
      "PodSandboxStats": {
       "fields": {
        "attributes": {
         "type": "PodSandboxAttributes",
         "id": 1
        },
        "linux": {
         "type": "LinuxPodSandboxStats",
         "id": 2
        },
        "windows": {
         "type": "WindowsPodSandboxStats",
         "id": 3
        }
       }
      },
      "LinuxPodSandboxStats": {
       "fields": {
        "cpu": {
         "type": "CpuUsage",
         "id": 1
        },
        "memory": {
         "type": "MemoryUsage",
         "id": 2
        },
        "network": {
         "type": "NetworkUsage",
         "id": 3
        },
        "process": {
         "type": "ProcessUsage",
         "id": 4
        },
        "containers": {
         "rule": "repeated",
         "type": "ContainerStats",
         "id": 5
        }
       }
      },
      "WindowsPodSandboxStats": {
       "fields": {}
      },
      "NetworkUsage": {
       "fields": {
        "timestamp": {
         "type": "int64",
         "id": 1
        },
        "defaultInterface": {
         "type": "NetworkInterfaceUsage",
         "id": 2
        },
        "interfaces": {
         "rule": "repeated",
         "type": "NetworkInterfaceUsage",
         "id": 3
        }
       }
      },
      "NetworkInterfaceUsage": {
       "fields": {
        "name": {
         "type": "string",
         "id": 1
        },
        "rxBytes": {
         "type": "UInt64Value",
         "id": 2
        },
        "rxErrors": {
         "type": "UInt64Value",
         "id": 3
        },
        "txBytes": {
         "type": "UInt64Value",
         "id": 4
        },
        "txErrors": {
         "type": "UInt64Value",
         "id": 5
        }
       }
      },
      "ProcessUsage": {
       "fields": {
        "timestamp": {
         "type": "int64",
         "id": 1
        },
        "processCount": {
         "type": "UInt64Value",
         "id": 2
        }
       }
      },
      "ImageSpec": {
       "fields": {
        "image": {
         "type": "string",
         "id": 1
        },
        "annotations": {
         "keyType": "string",
         "type": "string",
         "id": 2
        }
       }
      },
      "KeyValue": {
       "fields": {
        "key": {
         "type": "string",
         "id": 1
        },
        "value": {
         "type": "string",
         "id": 2
        }
       }
      },
      "LinuxContainerResources": {
       "fields": {
        "cpuPeriod": {
         "type": "int64",
         "id": 1
        },
        "cpuQuota": {
         "type": "int64",
         "id": 2
        },
        "cpuShares": {
         "type": "int64",
         "id": 3
        },
        "memoryLimitInBytes": {
         "type": "int64",
         "id": 4
        },
        "oomScoreAdj": {
         "type": "int64",
         "id": 5
        },
        "cpusetCpus": {
         "type": "string",
         "id": 6
        },
        "cpusetMems": {
         "type": "string",
         "id": 7
        },
        "hugepageLimits": {
         "rule": "repeated",
         "type": "HugepageLimit",
         "id": 8
        },
        "unified": {
         "keyType": "string",
         "type": "string",
         "id": 9
        },
        "memorySwapLimitInBytes": {
         "type": "int64",
         "id": 10
        }
       }
      },
      "HugepageLimit": {
       "fields": {
        "pageSize": {
         "type": "string",
         "id": 1
        },
        "limit": {
         "type": "uint64",
         "id": 2
        }
       }
      },
      "SELinuxOption": {
       "fields": {
        "user": {
         "type": "string",
         "id": 1
        },
        "role": {
         "type": "string",
         "id": 2
        },
        "type": {
         "type": "string",
         "id": 3
        },
        "level": {
         "type": "string",
         "id": 4
        }
       }
      },
      "Capability": {
       "fields": {
        "addCapabilities": {
         "rule": "repeated",
         "type": "string",
         "id": 1
        },
        "dropCapabilities": {
         "rule": "repeated",
         "type": "string",
         "id": 2
        },
        "addAmbientCapabilities": {
         "rule": "repeated",
         "type": "string",
         "id": 3
        }
       }
      },
      "LinuxContainerSecurityContext": {
       "fields": {
        "capabilities": {
         "type": "Capability",
         "id": 1
        },
        "privileged": {
         "type": "bool",
         "id": 2
        },
        "namespaceOptions": {
         "type": "NamespaceOption",
         "id": 3
        },
        "selinuxOptions": {
         "type": "SELinuxOption",
         "id": 4
        },
        "runAsUser": {
         "type": "Int64Value",
         "id": 5
        },
        "runAsGroup": {
         "type": "Int64Value",
         "id": 12
        },
        "runAsUsername": {
         "type": "string",
         "id": 6
        },
        "readonlyRootfs": {
         "type": "bool",
         "id": 7
        },
        "supplementalGroups": {
         "rule": "repeated",
         "type": "int64",
         "id": 8
        },
        "noNewPrivs": {
         "type": "bool",
         "id": 11
        },
        "maskedPaths": {
         "rule": "repeated",
         "type": "string",
         "id": 13
        },
        "readonlyPaths": {
         "rule": "repeated",
         "type": "string",
         "id": 14
        },
        "seccomp": {
         "type": "SecurityProfile",
         "id": 15
        },
        "apparmor": {
         "type": "SecurityProfile",
         "id": 16
        },
        "apparmorProfile": {
         "type": "string",
         "id": 9,
         "options": {
          "deprecated": true
         }
        },
        "seccompProfilePath": {
         "type": "string",
         "id": 10,
         "options": {
          "deprecated": true
         }
        }
       }
      },
      "LinuxContainerConfig": {
       "fields": {
        "resources": {
         "type": "LinuxContainerResources",
         "id": 1
        },
        "securityContext": {
         "type": "LinuxContainerSecurityContext",
         "id": 2
        }
       }
      },
      "WindowsSandboxSecurityContext": {
       "fields": {
        "runAsUsername": {
         "type": "string",
         "id": 1
        },
        "credentialSpec": {
         "type": "string",
         "id": 2
        },
        "hostProcess": {
         "type": "bool",
         "id": 3
        }
       }
      },
      "WindowsPodSandboxConfig": {
       "fields": {
        "securityContext": {
         "type": "WindowsSandboxSecurityContext",
         "id": 1
        }
       }
      },
      "WindowsContainerSecurityContext": {
       "fields": {
        "runAsUsername": {
         "type": "string",
         "id": 1
        },
        "credentialSpec": {
         "type": "string",
         "id": 2
        },
        "hostProcess": {
         "type": "bool",
         "id": 3
        }
       }
      },
      "WindowsContainerConfig": {
       "fields": {
        "resources": {
         "type": "WindowsContainerResources",
         "id": 1
        },
        "securityContext": {
         "type": "WindowsContainerSecurityContext",
         "id": 2
        }
       }
      },
      "WindowsContainerResources": {
       "fields": {
        "cpuShares": {
         "type": "int64",
         "id": 1
        },
        "cpuCount": {
         "type": "int64",
         "id": 2
        },
        "cpuMaximum": {
         "type": "int64",
         "id": 3
        },
        "memoryLimitInBytes": {
         "type": "int64",
         "id": 4
        },
        "rootfsSizeInBytes": {
         "type": "int64",
         "id": 5
        }
       }
      },
      "ContainerMetadata": {
       "fields": {
        "name": {
         "type": "string",
         "id": 1
        },
        "attempt": {
         "type": "uint32",
         "id": 2
        }
       }
      },
      "Device": {
       "fields": {
        "containerPath": {
         "type": "string",
         "id": 1
        },
        "hostPath": {
         "type": "string",
         "id": 2
        },
        "permissions": {
         "type": "string",
         "id": 3
        }
       }
      },
      "ContainerConfig": {
       "fields": {
        "metadata": {
         "type": "ContainerMetadata",
         "id": 1
        },
        "image": {
         "type": "ImageSpec",
         "id": 2
        },
        "command": {
         "rule": "repeated",
         "type": "string",
         "id": 3
        },
        "args": {
         "rule": "repeated",
         "type": "string",
         "id": 4
        },
        "workingDir": {
         "type": "string",
         "id": 5
        },
        "envs": {
         "rule": "repeated",
         "type": "KeyValue",
         "id": 6
        },
        "mounts": {
         "rule": "repeated",
         "type": "Mount",
         "id": 7
        },
        "devices": {
         "rule": "repeated",
         "type": "Device",
         "id": 8
        },
        "labels": {
         "keyType": "string",
         "type": "string",
         "id": 9
        },
        "annotations": {
         "keyType": "string",
         "type": "string",
         "id": 10
        },
        "logPath": {
         "type": "string",
         "id": 11
        },
        "stdin": {
         "type": "bool",
         "id": 12
        },
        "stdinOnce": {
         "type": "bool",
         "id": 13
        },
        "tty": {
         "type": "bool",
         "id": 14
        },
        "linux": {
         "type": "LinuxContainerConfig",
         "id": 15
        },
        "windows": {
         "type": "WindowsContainerConfig",
         "id": 16
        }
       }
      },
      "CreateContainerRequest": {
       "fields": {
        "podSandboxId": {
         "type": "string",
         "id": 1
        },
        "config": {
         "type": "ContainerConfig",
         "id": 2
        },
        "sandboxConfig": {
         "type": "PodSandboxConfig",
         "id": 3
        }
       }
      },
      "CreateContainerResponse": {
       "fields": {
        "containerId": {
         "type": "string",
         "id": 1
        }
       }
      },
      "StartContainerRequest": {
       "fields": {
        "containerId": {
         "type": "string",
         "id": 1
        }
       }
      },
      "StartContainerResponse": {
       "fields": {}
      },
      "StopContainerRequest": {
       "fields": {
        "containerId": {
         "type": "string",
         "id": 1
        },
        "timeout": {
         "type": "int64",
         "id": 2
        }
       }
      },
      "StopContainerResponse": {
       "fields": {}
      },
      "RemoveContainerRequest": {
       "fields": {
        "containerId": {
         "type": "string",
         "id": 1
        }
       }
      },
      "RemoveContainerResponse": {
       "fields": {}
      },
      "ContainerState": {
       "values": {
        "CONTAINER_CREATED": 0,
        "CONTAINER_RUNNING": 1,
        "CONTAINER_EXITED": 2,
        "CONTAINER_UNKNOWN": 3
       }
      },
      "ContainerStateValue": {
       "fields": {
        "state": {
         "type": "ContainerState",
         "id": 1
        }
       }
      },
      "ContainerFilter": {
       "fields": {
        "id": {
         "type": "string",
         "id": 1
        },
        "state": {
         "type": "ContainerStateValue",
         "id": 2
        },
        "podSandboxId": {
         "type": "string",
         "id": 3
        },
        "labelSelector": {
         "keyType": "string",
         "type": "string",
         "id": 4
        }
       }
      },
      "ListContainersRequest": {
       "fields": {
        "filter": {
         "type": "ContainerFilter",
         "id": 1
        }
       }
      },
      "Container": {
       "fields": {
        "id": {
         "type": "string",
         "id": 1
        },
        "podSandboxId": {
         "type": "string",
         "id": 2
        },
        "metadata": {
         "type": "ContainerMetadata",
         "id": 3
        },
        "image": {
         "type": "ImageSpec",
         "id": 4
        },
        "imageRef": {
         "type": "string",
         "id": 5
        },
        "state": {
         "type": "ContainerState",
         "id": 6
        },
        "createdAt": {
         "type": "int64",
         "id": 7
        },
        "labels": {
         "keyType": "string",
         "type": "string",
         "id": 8
        },
        "annotations": {
         "keyType": "string",
         "type": "string",
         "id": 9
        }
       }
      },
      "ListContainersResponse": {
       "fields": {
        "containers": {
         "rule": "repeated",
         "type": "Container",
         "id": 1
        }
       }
      },
      "ContainerStatusRequest": {
       "fields": {
        "containerId": {
         "type": "string",
         "id": 1
        },
        "verbose": {
         "type": "bool",
         "id": 2
        }
       }
      },
      "ContainerStatus": {
       "fields": {
        "id": {
         "type": "string",
         "id": 1
        },
        "metadata": {
         "type": "ContainerMetadata",
         "id": 2
        },
        "state": {
         "type": "ContainerState",
         "id": 3
        },
        "createdAt": {
         "type": "int64",
         "id": 4
        },
        "startedAt": {
         "type": "int64",
         "id": 5
        },
        "finishedAt": {
         "type": "int64",
         "id": 6
        },
        "exitCode": {
         "type": "int32",
         "id": 7
        },
        "image": {
         "type": "ImageSpec",
         "id": 8
        },
        "imageRef": {
         "type": "string",
         "id": 9
        },
        "reason": {
         "type": "string",
         "id": 10
        },
        "message": {
         "type": "string",
         "id": 11
        },
        "labels": {
         "keyType": "string",
         "type": "string",
         "id": 12
        },
        "annotations": {
         "keyType": "string",
         "type": "string",
         "id": 13
        },
        "mounts": {
         "rule": "repeated",
         "type": "Mount",
         "id": 14
        },
        "logPath": {
         "type": "string",
         "id": 15
        },
        "resources": {
         "type": "ContainerResources",
         "id": 16
        }
       }
      },
      "ContainerResources": {
       "fields": {
        "linux": {
         "type": "LinuxContainerResources",
         "id": 1
        },
        "windows": {
         "type": "WindowsContainerResources",
         "id": 2
        }
       }
      },
      "ContainerStatusResponse": {
       "fields": {
        "status": {
         "type": "ContainerStatus",
         "id": 1
        },
        "info": {
         "keyType": "string",
         "type": "string",
         "id": 2
        }
       }
      },
      "UpdateContainerResourcesRequest": {
       "fields": {
        "containerId": {
         "type": "string",
         "id": 1
        },
        "linux": {
         "type": "LinuxContainerResources",
         "id": 2
        },
        "windows": {
         "type": "WindowsContainerResources",
         "id": 3
        },
        "annotations": {
         "keyType": "string",
         "type": "string",
         "id": 4
        }
       }
      },
      "UpdateContainerResourcesResponse": {
       "fields": {}
      },
      "ExecSyncRequest": {
       "fields": {
        "containerId": {
         "type": "string",
         "id": 1
        },
        "cmd": {
         "rule": "repeated",
         "type": "string",
         "id": 2
        },
        "timeout": {
         "type": "int64",
         "id": 3
        }
       }
      },
      "ExecSyncResponse": {
       "fields": {
        "stdout": {
         "type": "bytes",
         "id": 1
        },
        "stderr": {
         "type": "bytes",
         "id": 2
        },
        "exitCode": {
         "type": "int32",
         "id": 3
        }
       }
      },
      "ExecRequest": {
       "fields": {
        "containerId": {
         "type": "string",
         "id": 1
        },
        "cmd": {
         "rule": "repeated",
         "type": "string",
         "id": 2
        },
        "tty": {
         "type": "bool",
         "id": 3
        },
        "stdin": {
         "type": "bool",
         "id": 4
        },
        "stdout": {
         "type": "bool",
         "id": 5
        },
        "stderr": {
         "type": "bool",
         "id": 6
        }
       }
      },
      "ExecResponse": {
       "fields": {
        "url": {
         "type": "string",
         "id": 1
        }
       }
      },
      "AttachRequest": {
       "fields": {
        "containerId": {
         "type": "string",
         "id": 1
        },
        "stdin": {
         "type": "bool",
         "id": 2
        },
        "tty": {
         "type": "bool",
         "id": 3
        },
        "stdout": {
         "type": "bool",
         "id": 4
        },
        "stderr": {
         "type": "bool",
         "id": 5
        }
       }
      },
      "AttachResponse": {
       "fields": {
        "url": {
         "type": "string",
         "id": 1
        }
       }
      },
      "PortForwardRequest": {
       "fields": {
        "podSandboxId": {
         "type": "string",
         "id": 1
        },
        "port": {
         "rule": "repeated",
         "type": "int32",
         "id": 2
        }
       }
      },
      "PortForwardResponse": {
       "fields": {
        "url": {
         "type": "string",
         "id": 1
        }
       }
      },
      "ImageFilter": {
       "fields": {
        "image": {
         "type": "ImageSpec",
         "id": 1
        }
       }
      },
      "ListImagesRequest": {
       "fields": {
        "filter": {
         "type": "ImageFilter",
         "id": 1
        }
       }
      },
      "Image": {
       "fields": {
        "id": {
         "type": "string",
         "id": 1
        },
        "repoTags": {
         "rule": "repeated",
         "type": "string",
         "id": 2
        },
        "repoDigests": {
         "rule": "repeated",
         "type": "string",
         "id": 3
        },
        "size": {
         "type": "uint64",
         "id": 4
        },
        "uid": {
         "type": "Int64Value",
         "id": 5
        },
        "username": {
         "type": "string",
         "id": 6
        },
        "spec": {
         "type": "ImageSpec",
         "id": 7
        },
        "pinned": {
         "type": "bool",
         "id": 8
        }
       }
      },
      "ListImagesResponse": {
       "fields": {
        "images": {
         "rule": "repeated",
         "type": "Image",
         "id": 1
        }
       }
      },
      "ImageStatusRequest": {
       "fields": {
        "image": {
         "type": "ImageSpec",
         "id": 1
        },
        "verbose": {
         "type": "bool",
         "id": 2
        }
       }
      },
      "ImageStatusResponse": {
       "fields": {
        "image": {
         "type": "Image",
         "id": 1
        },
        "info": {
         "keyType": "string",
         "type": "string",
         "id": 2
        }
       }
      },
      "AuthConfig": {
       "fields": {
        "username": {
         "type": "string",
         "id": 1
        },
        "password": {
         "type": "string",
         "id": 2
        },
        "auth": {
         "type": "string",
         "id": 3
        },
        "serverAddress": {
         "type": "string",
         "id": 4
        },
        "identityToken": {
         "type": "string",
         "id": 5
        },
        "registryToken": {
         "type": "string",
         "id": 6
        }
       }
      },
      "PullImageRequest": {
       "fields": {
        "image": {
         "type": "ImageSpec",
         "id": 1
        },
        "auth": {
         "type": "AuthConfig",
         "id": 2
        },
        "sandboxConfig": {
         "type": "PodSandboxConfig",
         "id": 3
        }
       }
      },
      "PullImageResponse": {
       "fields": {
        "imageRef": {
         "type": "string",
         "id": 1
        }
       }
      },
      "RemoveImageRequest": {
       "fields": {
        "image": {
         "type": "ImageSpec",
         "id": 1
        }
       }
      },
      "RemoveImageResponse": {
       "fields": {}
      },
      "NetworkConfig": {
       "fields": {
        "podCidr": {
         "type": "string",
         "id": 1
        }
       }
      },
      "RuntimeConfig": {
       "fields": {
        "networkConfig": {
         "type": "NetworkConfig",
         "id": 1
        }
       }
      },
      "UpdateRuntimeConfigRequest": {
       "fields": {
        "runtimeConfig": {
         "type": "RuntimeConfig",
         "id": 1
        }
       }
      },
      "UpdateRuntimeConfigResponse": {
       "fields": {}
      },
      "RuntimeCondition": {
       "fields": {
        "type": {
         "type": "string",
         "id": 1
        },
        "status": {
         "type": "bool",
         "id": 2
        },
        "reason": {
         "type": "string",
         "id": 3
        },
        "message": {
         "type": "string",
         "id": 4
        }
       }
      },
      "RuntimeStatus": {
       "fields": {
        "conditions": {
         "rule": "repeated",
         "type": "RuntimeCondition",
         "id": 1
        }
       }
      },
      "StatusRequest": {
       "fields": {
        "verbose": {
         "type": "bool",
         "id": 1
        }
       }
      },
      "StatusResponse": {
       "fields": {
        "status": {
         "type": "RuntimeStatus",
         "id": 1
        },
        "info": {
         "keyType": "string",
         "type": "string",
         "id": 2
        }
       }
      },
      "ImageFsInfoRequest": {
       "fields": {}
      },
      "UInt64Value": {
       "fields": {
        "value": {
         "type": "uint64",
         "id": 1
        }
       }
      },
      "FilesystemIdentifier": {
       "fields": {
        "mountpoint": {
         "type": "string",
         "id": 1
        }
       }
      },
      "FilesystemUsage": {
       "fields": {
        "timestamp": {
         "type": "int64",
         "id": 1
        },
        "fsId": {
         "type": "FilesystemIdentifier",
         "id": 2
        },
        "usedBytes": {
         "type": "UInt64Value",
         "id": 3
        },
        "inodesUsed": {
         "type": "UInt64Value",
         "id": 4
        }
       }
      },
      "ImageFsInfoResponse": {
       "fields": {
        "imageFilesystems": {
         "rule": "repeated",
         "type": "FilesystemUsage",
         "id": 1
        }
       }
      },
      "ContainerStatsRequest": {
       "fields": {
        "containerId": {
         "type": "string",
         "id": 1
        }
       }
      },
      "ContainerStatsResponse": {
       "fields": {
        "stats": {
         "type": "ContainerStats",
         "id": 1
        }
       }
      },
      "ListContainerStatsRequest": {
       "fields": {
        "filter": {
         "type": "ContainerStatsFilter",
         "id": 1
        }
       }
      },
      "ContainerStatsFilter": {
       "fields": {
        "id": {
         "type": "string",
         "id": 1
        },
        "podSandboxId": {
         "type": "string",
         "id": 2
        },
        "labelSelector": {
         "keyType": "string",
         "type": "string",
         "id": 3
        }
       }
      },
      "ListContainerStatsResponse": {
       "fields": {
        "stats": {
         "rule": "repeated",
         "type": "ContainerStats",
         "id": 1
        }
       }
      },
      "ContainerAttributes": {
       "fields": {
        "id": {
         "type": "string",
         "id": 1
        },
        "metadata": {
         "type": "ContainerMetadata",
         "id": 2
        },
        "labels": {
         "keyType": "string",
         "type": "string",
         "id": 3
        },
        "annotations": {
         "keyType": "string",
         "type": "string",
         "id": 4
        }
       }
      },
      "ContainerStats": {
       "fields": {
        "attributes": {
         "type": "ContainerAttributes",
         "id": 1
        },
        "cpu": {
         "type": "CpuUsage",
         "id": 2
        },
        "memory": {
         "type": "MemoryUsage",
         "id": 3
        },
        "writableLayer": {
         "type": "FilesystemUsage",
         "id": 4
        }
       }
      },
      "CpuUsage": {
       "fields": {
        "timestamp": {
         "type": "int64",
         "id": 1
        },
        "usageCoreNanoSeconds": {
         "type": "UInt64Value",
         "id": 2
        },
        "usageNanoCores": {
         "type": "UInt64Value",
         "id": 3
        }
       }
      },
      "MemoryUsage": {
       "fields": {
        "timestamp": {
         "type": "int64",
         "id": 1
        },
        "workingSetBytes": {
         "type": "UInt64Value",
         "id": 2
        },
        "availableBytes": {
         "type": "UInt64Value",
         "id": 3
        },
        "usageBytes": {
         "type": "UInt64Value",
         "id": 4
        },
        "rssBytes": {
         "type": "UInt64Value",
         "id": 5
        },
        "pageFaults": {
         "type": "UInt64Value",
         "id": 6
        },
        "majorPageFaults": {
         "type": "UInt64Value",
         "id": 7
        }
       }
      },
      "ReopenContainerLogRequest": {
       "fields": {
        "containerId": {
         "type": "string",
         "id": 1
        }
       }
      },
      "ReopenContainerLogResponse": {
       "fields": {}
      }
     }
    }
   }
  }
 }
} as unknown as INamespace;
