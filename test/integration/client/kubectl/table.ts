/** The commands that orchctl and kubectl 1.24 are compared by, in their order: each works on what those before left. */
import { kustomizeRows } from '#test/integration/client/kubectl/kustomize-rows.js';
import { type Row, rows } from '#test/integration/client/kubectl/rows.js';

const create = rows(`
create namespace shop
create namespace shop
create namespace other --dry-run=client -o yaml
create namespace other --dry-run=server
create namespace
create deployment web --image=nginx --replicas=3 -n shop
create deployment web --image=nginx -n shop
create deployment many --image=nginx,redis:6 --port=80 --dry-run=client -o yaml
create deployment many --image=nginx --dry-run=client -o json
create deployment none
create deployment many --image=a,b --dry-run=client -- date
create configmap colors --from-literal=sky=blue --from-literal=grass=green -n shop
create configmap colors --from-file=@colors --from-file=other=@sky -n shop --dry-run=client -o yaml
create cm files --from-file=@folder --append-hash --dry-run=client -o yaml
create configmap env --from-env-file=@env --dry-run=client -o yaml
create configmap bad --from-literal=sky
create configmap bad --from-literal='a b=c'
create configmap bad --from-literal=a=b --from-literal=a=c
create configmap bad --from-file=@missing
create secret generic login --from-literal=user=jane -n shop
create secret generic login --type=custom --from-literal=user=jane --dry-run=client -o yaml
create secret docker-registry pull --docker-username=u --docker-password=p --dry-run=client -o yaml
create secret docker-registry pull
create secret tls site --cert=@missing --key=@missing
create serviceaccount builder -n shop
create sa builder --dry-run=client -o yaml
create role reader --verb=get,list --resource=pods,deployments.apps,pods/log -n shop
create role reader --verb=get --resource=pods --resource-name=a --dry-run=client -o yaml
create role bad --verb=get --resource=nothing
create role bad --verb=get
create clusterrole reader --verb=get,list --resource=nodes
create clusterrole paths --verb=get --non-resource-url=/healthz,/logs/* --dry-run=client -o yaml
create clusterrole sum --aggregation-rule=a=b --dry-run=client -o yaml
create rolebinding readers --role=reader --user=jane --group=devs --serviceaccount=shop:builder -n shop
create rolebinding readers --role=a --clusterrole=b
create clusterrolebinding readers --clusterrole=reader --serviceaccount=shop:builder --dry-run=client -o yaml
create clusterrolebinding readers --clusterrole=reader --group=devs
create job once --image=busybox -n shop -- date -u
create job once --image=busybox --dry-run=client -o yaml -- date
create job once
create cronjob nightly --image=busybox '--schedule=0 3 * * *' -n shop -- date
create cj nightly --image=busybox '--schedule=0 3 * * *' --restart=Never --dry-run=client -o yaml
create job now --from=cronjob/nightly -n shop
create quota small --hard=cpu=1,memory=1Gi,pods=10 -n shop
create quota small --hard=cpu=1000m --scopes=BestEffort --dry-run=client -o yaml
create pdb web --selector=app=web,tier!=db --min-available=1
create pdb web '--selector=app=web,tier in (a,b)' --min-available=50% -n shop --dry-run=client -o yaml
create pdb web --selector=app=web --max-unavailable=1 -n shop
create pdb web --selector=app=web
create priorityclass high --value=1000 --description=first
create pc low --value=1 --global-default --preemption-policy=Never --dry-run=client -o yaml
create service clusterip web --tcp=80:8080 --dry-run=client -o yaml
create service clusterip web --clusterip=None -n shop
create svc nodeport web --tcp=80 --node-port=30080 --dry-run=client -o yaml
create service externalname db --external-name=db.example.com --dry-run=client -o yaml
create service clusterip web
create ingress site --rule=shop.example/*=web:80,tls=cert --rule=shop.example/a=web:http --default-backend=web:80 --class=public --annotation=a=b --dry-run=client -o yaml
create ingress site --rule=shop.example/=web:80 -n shop
create ingress site
create ingress site --rule=nonsense
create -f @pod.yaml -n shop
create -f @pod.yaml -n shop
create -f @missing.yaml
create -f @bad.yaml
create -f @unknown.yaml
create -f @many.yaml -n shop --dry-run=client
create nonsense
`);

const get = rows(`
get pods -n shop
get pods -n shop -o wide
get pods -n shop --show-labels
get pods -n shop -L app,tier
get pods -n shop --no-headers
get pods -n shop -o name
get pods -n shop -l app=web
get pods -n shop -l app=none
get pods -n shop --field-selector=metadata.name=web-0
get pods
get pods -A
get pods,configmaps -n shop
get pod/web-0 configmap/colors -n shop
get pod web-0 -n shop --show-kind
get pod web-0 nothing -n shop
get pod nothing -n shop
get pod nothing -n shop --ignore-not-found
get pod nothing -n nowhere
get configmap colors -n shop -o yaml
get configmap colors -n shop -o json
get configmaps,secrets -n shop -o yaml
get configmap colors -n shop -o jsonpath={.data.sky}
get pods -n shop -o jsonpath={.items[*].metadata.name}
get pods -n shop -o 'jsonpath={range .items[*]}{.metadata.name}{"\\t"}{.spec.containers[0].image}{"\\n"}{end}'
get pods -n shop -o 'jsonpath={.items[?(@.metadata.name=="web-0")].spec.containers[*].image}'
get pods -n shop -o jsonpath-as-json={.items[*].metadata.labels}
get pods -n shop -o jsonpath
get pods -n shop -o jsonpath={.a
get pods -n shop -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image,NONE:.a.b
get pods -n shop -o custom-columns=NAME
get pods -n shop -o custom-columns-file=@columns
get pods -n shop -o 'go-template={{range .items}}{{.metadata.name}}{{"\\n"}}{{end}}'
get pods -n shop -o 'go-template={{range $i, $p := .items}}{{if $i}}, {{end}}{{printf "%s=%v" $p.metadata.name (len $p.spec.containers)}}{{end}}'
get pods -n shop -o go-template-file=@template
get pods -n shop -o nonsense
get pods -n shop --sort-by=.metadata.name
get pods -n shop --sort-by=.spec.containers[0].image
get pods -n shop --sort-by=.a.b
get pods -n shop --sort-by={.metadata.name} -o name
get pods -n shop --chunk-size=1
get pods -n shop --server-print=false
get -f @pod.yaml -n shop
get -f @pod.yaml -n other
get nonsense
get pods.nonsense
get
get pods web-0 -l app=web
get pod/web-0 configmap
get deploy,sa -n shop
get --raw /api/v1/namespaces/nothing
get --raw nothing
get --raw /nothing
get deploy web -n shop --subresource=scale
get namespaces shop -o wide
get all -n nowhere
-n shop get pods
get -n shop po -o name
`);

const change = rows(`
label pod web-0 -n shop zone=a
label pod web-0 -n shop zone=b
label pod web-0 -n shop zone=b --overwrite
label pod web-0 -n shop zone=b --overwrite
label pod web-0 -n shop zone- nothing-
label pods --all -n shop checked=yes
label pods -l checked=yes -n shop checked-
label pod web-0 -n shop
label pod web-0 -n shop a=b a-
label pod web-0 -n shop 'a=b c'
label pod web-0 a=b other -n shop
label pod nothing -n shop a=b
label a=b
label pod web-0 -n shop a=b --dry-run=client -o yaml
label -f @pod.yaml a=b --local -o yaml
annotate pod web-0 -n shop 'note=some words'
annotate pod web-0 -n shop note=other
annotate pod web-0 -n shop note=other --overwrite
annotate pod web-0 -n shop note-
annotate pod web-0 -n shop
patch configmap colors -n shop -p {"data":{"sea":"blue"}}
patch configmap colors -n shop -p {"data":{"sea":"blue"}}
patch configmap colors -n shop --type=merge -p {"data":{"sea":null}} -o yaml
patch configmap colors -n shop --type=json -p [{"op":"replace","path":"/data/sky","value":"grey"}]
patch configmap colors -n shop --type=json -p [{"op":"remove","path":"/data/none"}]
patch deployment web -n shop -p {"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":"nginx:2"}]}}}}
patch deployment web -n shop --subresource=scale --type=merge -p {"spec":{"replicas":2}}
patch deployment web -n shop -p {"spec":{"replicas":-1}}
patch configmap colors -n shop
patch configmap colors -n shop --type=odd -p {}
patch configmap nothing -n shop -p {}
scale deployment web -n shop --replicas=4
scale deployment/web -n shop --replicas=5 --current-replicas=3
scale deployment/web -n shop --replicas=5 --current-replicas=4
scale deployment web -n shop
scale deployment nothing -n shop --replicas=1
scale configmap colors -n shop --replicas=1
autoscale deployment web -n shop --min=2 --max=5 --cpu-percent=80
autoscale deployment web -n shop --max=5 --name=other --dry-run=client -o yaml
autoscale deployment web -n shop --max=0
autoscale deployment web -n shop --min=5 --max=2
autoscale deployment web -n shop
expose deployment web -n shop --port=80 --target-port=8080
expose deployment web -n shop --name=front --port=80,81 --type=NodePort --dry-run=client -o yaml
expose pod web-0 -n shop --port=80 --name=pod --dry-run=client -o yaml
expose deployment web -n shop
expose configmap colors -n shop --port=80
set image deployment/web -n shop nginx=nginx:3
set image deployment/web -n shop nginx=nginx:3
set image deployment/web -n shop nothing=nginx
set image deployment/web -n shop
set image -n shop nginx=a
set image deployment web -n shop *=nginx:4 --dry-run=client -o jsonpath={.spec.template.spec.containers[0].image}
set env deployment/web -n shop LEVEL=debug MODE=fast
set env deployment/web -n shop --list
set env deployment/web -n shop LEVEL-
set env deployment/web -n shop --from=configmap/colors --prefix=C_
set env deployment/web -n shop --list
set env deployment/web -n shop 'a b=c'
set env -n shop A=b
set resources deployment web -n shop --limits=cpu=200m,memory=512Mi --requests=cpu=100m
set resources deployment web -n shop
set serviceaccount deployment web -n shop builder
set selector service web -n shop app=other
set subject rolebinding readers -n shop --user=joe --group=ops
set subject rolebinding readers -n shop
set nothing
get deployment web -n shop -o jsonpath={.spec.template.spec}
taint nodes worker-a dedicated=db:NoSchedule
taint nodes worker-a dedicated=web:NoSchedule
taint nodes worker-a dedicated=web:NoSchedule --overwrite
taint nodes worker-a drained:NoExecute
taint nodes worker-a dedicated- drained:NoExecute-
taint nodes worker-a dedicated-
taint nodes worker-a a=b:Nothing
taint nodes worker-a
taint pods web-0 a=b:NoSchedule
run shell --image=busybox -n shop
run shell --image=busybox --env=A=b --port=80 --labels=a=b,c=d --restart=Never --dry-run=client -o yaml -- date -u
run shell --image=busybox --command --dry-run=client -o yaml -- sleep 1
run shell
run
run shell --image=A:b
run shell --image=a --rm
run shell --image=a -t
cordon worker-a
cordon worker-a
uncordon worker-a
uncordon worker-a
uncordon nothing
cordon
rollout status deployment/web -n shop --watch=false
rollout pause deployment/web -n shop
rollout pause deployment/web -n shop
rollout restart deployment/web -n shop
rollout resume deployment/web -n shop
rollout resume deployment/web -n shop
rollout restart deployment web -n shop
rollout undo deployment/web -n shop
rollout history deployment/web -n shop
rollout pause configmap/colors -n shop
rollout status deployment/nothing -n shop
rollout nothing
rollout restart
delete configmap nothing -n shop
delete configmap nothing -n shop --ignore-not-found
delete pod web-0 -n shop --wait=false --dry-run=client
delete pod web-0 -n shop --dry-run=server
delete configmap colors -n shop -o name
delete configmap/env secret/login -n shop
delete -f @pod.yaml -n shop --now --wait=false
delete pods -n shop
delete secrets -l a=b -n shop
delete quota,pdb --all -n shop
delete
delete pod a --all -n shop
delete job once --cascade=odd -n shop
delete pod shell -n shop --force --grace-period=0
delete pod x --grace-period=0 --timeout=1s --force -n shop
`);

const apply = rows(`
apply -f @web.yaml -n shop --dry-run=client
apply -f @web.yaml -n shop
apply -f @web.yaml -n shop
apply -f @web-2.yaml -n shop --dry-run=server
apply -f @web-2.yaml -n shop
get deployment front -n shop -o jsonpath={.metadata.labels}{.metadata.annotations}{.spec.template.spec.containers}
apply -f @web-2.yaml -n shop -o name
apply -f @many.yaml -n shop
apply -f @many.yaml -n shop -o jsonpath={.items[*].metadata.name}
apply -f @pod.yaml -n shop
create configmap site2 --from-literal=a=b -n shop
apply -f @missing.yaml
apply -f @bad.yaml
apply -f @unknown.yaml
apply
apply -f @web.yaml extra
apply --server-side -f @web.yaml -n shop --field-manager=mine
apply --server-side -f @web.yaml -n shop --field-manager=mine --force-conflicts
apply --server-side -f @web.yaml -n shop --field-manager=other --force-conflicts
apply --force-conflicts -f @web.yaml -n shop
apply -f @web.yaml -n shop --prune
apply -f @many.yaml -n shop -l tier=none
apply -f @web.yaml -n shop -l app=front
apply -f @pod.yaml -n shop --prune -l tier=front
replace -f @web.yaml -n shop
replace -f @unknown.yaml
replace -f @missing.yaml
replace
replace -f @many.yaml -n shop --dry-run=client
replace -f @many.yaml -n shop
patch configmap site -n shop --patch-file=@patched.yaml
get configmap site -n shop -o jsonpath={.data}
api-versions
api-resources
api-resources --namespaced=false -o name
api-resources --api-group=apps -o wide
api-resources --verbs=list,get --sort-by=kind --no-headers
api-resources --api-group=batch --sort-by=name
api-resources -o odd
version --client -o odd
explain pods
explain pods.spec.containers.resources
explain pod.spec.nothing
explain deployments --recursive
explain nothing
explain
explain cronjob.spec --api-version=batch/v1
cluster-info
config get-contexts
config get-contexts -o name
config current-context
config get-clusters
config get-users
config use-context c
config use-context nothing
config set-context other --cluster=c --user=u --namespace=shop
config set-cluster d --server=https://example.com
config set-credentials v --token=abc
config rename-context other better
config get-contexts
config set clusters.d.tls-server-name name
config unset clusters.d.tls-server-name
config view --minify -o jsonpath={.contexts[0].name}
config delete-context better
config delete-context better
config delete-cluster d
config delete-user v
config nothing
auth can-i create pods
auth can-i get pods/log -n shop
auth can-i --list --no-headers
auth can-i fly pods
auth can-i get
wait --for=condition=Ready pod/web-0 -n shop --timeout=1s
wait --for=jsonpath={.kind}=Pod pod/web-0 -n shop --timeout=5s
wait --for=delete pod/nothing -n shop --timeout=5s
wait --for=odd pod/web-0 -n shop
wait pod/web-0 -n shop
wait --for=condition=Ready pod/nothing -n shop
certificate approve nothing
certificate deny
describe nothing
describe pod nothing -n shop
logs nothing -n shop
logs
exec nothing -n shop -- date
exec
port-forward
port-forward nothing 80 -n shop
attach nothing -n shop
drain worker-a
drain
drain nothing
uncordon worker-a
descrbe pods
get pods --nothing
`);

/** Each table begins with an empty cluster. */
export const tables = {
  daily: [...create, ...get, ...change, ...apply],
  kustomize: kustomizeRows,
} as const satisfies Readonly<Record<string, readonly Row[]>>;

export type TableName = keyof typeof tables;
