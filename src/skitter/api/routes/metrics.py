"""Metrics for Prometheus."""

from fastapi import APIRouter, Request, Response
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from skitter.api.auth import reader
from skitter.api.herald import Events
from skitter.api.metrics.page import found, metrics_text
from skitter.api.metrics.requests import RequestCounts
from skitter.api.routes.stats import Stands

router = APIRouter(tags=["stats"])


@router.get("/metrics", dependencies=[reader], response_class=Response)
async def metrics(request: Request, standing: Stands, herald: Events) -> Response:
    """Tell everything that is measured, in the text format of Prometheus."""
    counts = request.app.state.requests
    assert isinstance(counts, RequestCounts)
    text = metrics_text([*await found(standing, herald), *counts.registry.collect()])
    return Response(text, media_type=CONTENT_TYPE_LATEST)
