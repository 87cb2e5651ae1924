"""openapi-spec-validator on the description that the server serves."""
import json
import urllib.request

from openapi_spec_validator import OpenAPIV31SpecValidator

import check as c
from check import TOKEN, URL, check


request = urllib.request.Request(URL + "/api/v1/openapi.json", headers={"Authorization": "Bearer " + TOKEN})
doc = json.load(urllib.request.urlopen(request))
errors = list(OpenAPIV31SpecValidator(doc).iter_errors())
check(not errors, errors)
check(doc["openapi"].startswith("3.1") and doc["servers"] and doc["info"]["license"], doc["info"])
operations = [(p, m, o) for p, item in doc["paths"].items() for m, o in item.items()]
for path, method, o in operations:
    check("..." not in path and "4XX" in o["responses"], (path, method))
print(f"openapi-spec-validator: {len(operations)} operations, {c.count} checks")
